/** Validates a container's volume mounts and block devices. */
import type { Container, Volume, VolumeMount } from '../../../../shared/kubernetes/api.ts';
import { checkLocalDescendingPath, checkNoBacksteps, checkSupported } from './checks.ts';
import { duplicate, forbidden, invalid, notFound, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';

type Volumes = ReadonlyMap<string, Volume>;

export function validateVolumeMounts(container: Container, volumes: Volumes, path: string, errors: string[]): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const seen = new Set<string>();
  const deviceNames = new Set(volumeDevices.map(({ name }) => name));
  const devicePaths = new Set(volumeDevices.map(({ devicePath }) => devicePath));
  for (const [index, mount] of volumeMounts.entries()) {
    const { name, mountPath, subPath, subPathExpr } = mount;
    const fieldPath = `${path}[${index}]`;
    if (!name) errors.push(required(`${fieldPath}.name`));
    if (!volumes.has(name)) errors.push(notFound(`${fieldPath}.name`, name));
    if (!mountPath) errors.push(required(`${fieldPath}.mountPath`));
    if (seen.has(mountPath)) errors.push(invalid(`${fieldPath}.mountPath`, mountPath, 'must be unique'));
    seen.add(mountPath);
    if (deviceNames.has(name)) {
      errors.push(invalid(`${fieldPath}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devicePaths.has(mountPath)) {
      errors.push(invalid(`${fieldPath}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'));
    }
    if (subPath) checkLocalDescendingPath(subPath, `${fieldPath}.subPath`, errors);
    if (subPathExpr) {
      if (subPath) errors.push(invalid(`${fieldPath}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'));
      checkLocalDescendingPath(subPathExpr, `${fieldPath}.subPathExpr`, errors);
    }
    validatePropagation(mount, container, fieldPath, errors);
    validateRecursiveReadOnly(mount, `${fieldPath}.recursiveReadOnly`, errors);
    validateBindMountOptions(mount, volumes.get(name), `${fieldPath}.bindMountOptions`, errors);
  }
}

function validatePropagation({ mountPropagation }: VolumeMount, { securityContext }: Container, path: string, errors: string[]): void {
  const propagationPath = `${path}.mountPropagation`;
  checkSupported(mountPropagation, propagationPath, ['Bidirectional', 'HostToContainer', 'None'], errors);
  if (mountPropagation === 'Bidirectional' && !securityContext?.privileged) {
    errors.push(forbidden(propagationPath, 'Bidirectional mount propagation is available only to privileged containers'));
  }
}

function validateRecursiveReadOnly(mount: VolumeMount, path: string, errors: string[]): void {
  const { recursiveReadOnly, readOnly, mountPropagation = 'None' } = mount;
  switch (recursiveReadOnly) {
    case undefined:
    case 'Disabled':
      return;
    case 'Enabled':
    case 'IfPossible':
      if (!readOnly) errors.push(forbidden(path, 'may only be specified when readOnly is true'));
      if (mountPropagation !== 'None') {
        errors.push(forbidden(path, 'may only be specified when mountPropagation is None or not specified'));
      }
      return;
    default:
      errors.push(notSupported(path, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']));
  }
}

const bindMountOptions = ['nodev', 'noexec', 'nosuid'];

function validateBindMountOptions(
  { bindMountOptions: options = [] }: VolumeMount,
  volume: Volume | undefined,
  path: string,
  errors: string[],
): void {
  const seen = new Set<string>();
  for (const [index, option] of options.entries()) {
    checkSupported(option, `${path}[${index}]`, bindMountOptions, errors);
    if (seen.has(option)) errors.push(duplicate(`${path}[${index}]`, option));
    seen.add(option);
  }
  if (options.length > 0 && volume?.image) errors.push(invalid(path, options, 'bindMountOptions may not be used with image volumes'));
}

export function validateVolumeDevices(container: Container, volumes: Volumes, path: string, errors: string[]): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const [names, paths] = [new Set<string>(), new Set<string>()];
  const mountNames = new Set(volumeMounts.map(({ name }) => name));
  const mountPaths = new Set(volumeMounts.map(({ mountPath }) => mountPath));
  for (const [index, { name, devicePath }] of volumeDevices.entries()) {
    const fieldPath = `${path}[${index}]`;
    const volume = volumes.get(name);
    if (!name) errors.push(required(`${fieldPath}.name`));
    if (names.has(name)) errors.push(invalid(`${fieldPath}.name`, name, 'must be unique'));
    if (!volume) errors.push(notFound(`${fieldPath}.name`, name));
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.push(invalid(`${fieldPath}.name`, name, detail));
    }
    if (!devicePath) errors.push(required(`${fieldPath}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalid(`${fieldPath}.devicePath`, devicePath, 'must be unique'));
    checkNoBacksteps(devicePath, `${fieldPath}.devicePath`, errors);
    if (mountNames.has(name)) {
      errors.push(invalid(`${fieldPath}.name`, name, 'must not already exist in volumeMounts'));
    }
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(`${fieldPath}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
    }
    names.add(name);
    paths.add(devicePath);
  }
}
