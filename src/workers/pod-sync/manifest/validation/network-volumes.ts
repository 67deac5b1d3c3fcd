/** Validates volumes of particular storage systems. Few of them still run, but the API's rules apply. */
import type { Volume } from '../../../../shared/kubernetes/api.ts';
import { rangeErrors } from '../../../../shared/kubernetes/names.ts';
import { checkDNSLabel, checkRequired, checkSupported } from './checks.ts';
import { invalid, keyPath, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';

type Source<K extends keyof Volume> = NonNullable<Volume[K]>;

export function validateNFS(nfs: Source<'nfs'>, path: string, errors: string[]): void {
  checkRequired(nfs.server, `${path}.server`, errors);
  checkRequired(nfs.path, `${path}.path`, errors);
  if (!nfs.path.startsWith('/')) errors.push(invalid(`${path}.path`, nfs.path, 'must be an absolute path'));
}

/** A qualified name, an IEEE EUI-64 or an NAA identifier. */
const iscsiNames = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
};
/** RFC 3720 allows 223 bytes. The regular expressions never run on names far above this limit. */
const maxISCSINameLength = 1024;

export function validateISCSI(iscsi: Source<'iscsi'>, path: string, errors: string[]): void {
  checkRequired(iscsi.targetPortal, `${path}.targetPortal`, errors);
  if (!iscsi.iqn) errors.push(required(`${path}.iqn`));
  else validateISCSIName(iscsi.iqn, `${path}.iqn`, errors);
  for (const each of rangeErrors(iscsi.lun, 0, 255)) errors.push(invalid(`${path}.lun`, iscsi.lun, each));
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && !iscsi.secretRef) errors.push(required(`${path}.secretRef`));
  if (iscsi.initiatorName !== undefined) validateISCSIName(iscsi.initiatorName, `${path}.initiatorname`, errors);
}

function validateISCSIName(name: string, path: string, errors: string[]): void {
  const pattern = Object.entries(iscsiNames).find(([prefix]) => name.startsWith(prefix))?.[1];
  if (!pattern) errors.push(invalid(path, name, 'must be valid format starting with iqn, eui, or naa'));
  else if (name.length > maxISCSINameLength || !pattern.test(name)) errors.push(invalid(path, name, 'must be valid format'));
}

export function validateFC({ targetWWNs = [], wwids = [], lun }: Source<'fc'>, path: string, errors: string[]): void {
  const targetWWNsPath = `${path}.targetWWNs`;
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.push(required(targetWWNsPath, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targetWWNs.length === 0) return;
  if (wwids.length > 0) errors.push(invalid(targetWWNsPath, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'));
  if (lun === undefined) errors.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'));
  else for (const each of rangeErrors(lun, 0, 255)) errors.push(invalid(`${path}.lun`, lun, each));
}

function validatePartition(partition: number | undefined, path: string, errors: string[]): void {
  // Zero means the whole disk. The message is the API's.
  if (partition === undefined || (partition >= 0 && partition <= 255)) return;
  errors.push(invalid(`${path}.partition`, partition, 'must be between 1 and 255, inclusive'));
}

export function validateGCEPersistentDisk(disk: Source<'gcePersistentDisk'>, path: string, errors: string[]): void {
  checkRequired(disk.pdName, `${path}.pdName`, errors);
  validatePartition(disk.partition, path, errors);
}

export function validateAWSElasticBlockStore(disk: Source<'awsElasticBlockStore'>, path: string, errors: string[]): void {
  checkRequired(disk.volumeID, `${path}.volumeID`, errors);
  validatePartition(disk.partition, path, errors);
}

export function validateQuobyte({ registry, tenant = '', volume }: Source<'quobyte'>, path: string, errors: string[]): void {
  const detail = 'must be a host:port pair or multiple pairs separated by commas';
  if (!registry) errors.push(required(`${path}.registry`, detail));
  else if (tenant.length >= 65) errors.push(required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
  else if (!registry.split(',').every((pair) => /^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair))) {
    errors.push(invalid(`${path}.registry`, registry, detail));
  }
  checkRequired(volume, `${path}.volume`, errors);
}

export function validateFlocker({ datasetName = '', datasetUUID = '' }: Source<'flocker'>, path: string, errors: string[]): void {
  if (!datasetName && !datasetUUID) errors.push(required(path, 'one of datasetName and datasetUUID is required'));
  if (datasetName && datasetUUID) {
    errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (datasetName.includes('/')) errors.push(invalid(`${path}.datasetName`, datasetName, "must not contain '/'"));
}

export function validateRBD({ monitors, image }: Source<'rbd'>, path: string, errors: string[]): void {
  if (monitors.length === 0) errors.push(required(`${path}.monitors`));
  checkRequired(image, `${path}.image`, errors);
}

export function validateCephFS({ monitors }: Source<'cephfs'>, path: string, errors: string[]): void {
  if (monitors.length === 0) errors.push(required(`${path}.monitors`));
}

export function validateFlexVolume({ driver, options }: Source<'flexVolume'>, path: string, errors: string[]): void {
  checkRequired(driver, `${path}.driver`, errors);
  for (const key of Object.keys(options ?? {})) {
    const namespace = `.${(key.split('/')[0] ?? '').toLowerCase()}`;
    if (!namespace.endsWith('.kubernetes.io') && !namespace.endsWith('.k8s.io')) continue;
    errors.push(invalid(keyPath(`${path}.options`, key), key, 'kubernetes.io and k8s.io namespaces are reserved'));
  }
}

/** The form of the URI for each kind of disk. */
const diskURIs = {
  Managed: ['/subscriptions/', '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'],
  other: ['https://', 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'],
} as const;

export function validateAzureDisk(disk: Source<'azureDisk'>, path: string, errors: string[]): void {
  checkRequired(disk.diskName, `${path}.diskName`, errors);
  checkRequired(disk.diskURI, `${path}.diskURI`, errors);
  checkSupported(disk.cachingMode, `${path}.cachingMode`, ['None', 'ReadOnly', 'ReadWrite'], errors);
  checkSupported(disk.kind, `${path}.kind`, ['Shared', 'Dedicated', 'Managed'], errors);
  const [prefix, form] = disk.kind === 'Managed' ? diskURIs.Managed : diskURIs.other;
  if (!disk.diskURI.startsWith(prefix)) errors.push(notSupported(`${path}.diskURI`, disk.diskURI, [form]));
}

export function validateStorageOS({ volumeName, volumeNamespace, secretRef }: Source<'storageos'>, path: string, errors: string[]): void {
  if (!volumeName) errors.push(required(`${path}.volumeName`));
  else checkDNSLabel(volumeName, `${path}.volumeName`, errors);
  if (volumeNamespace) checkDNSLabel(volumeNamespace, `${path}.volumeNamespace`, errors);
  if (secretRef && !secretRef.name) errors.push(required(`${path}.secretRef.name`));
}

export function validateCinder({ volumeID, secretRef }: Source<'cinder'>, path: string, errors: string[]): void {
  checkRequired(volumeID, `${path}.volumeID`, errors);
  if (secretRef && !secretRef.name) errors.push(required(`${path}.secretRef.name`));
}

/** The fields that the remaining kinds require. These kinds have no other rules. */
export const requiredFields = {
  glusterfs: ['endpoints', 'path'],
  azureFile: ['secretName', 'shareName'],
  vsphereVolume: ['volumePath'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  scaleIO: ['gateway', 'system', 'volumeName'],
} as const;
