/** Validates a pod's containers: the rules for all containers, and those for init or regular containers only. The limits are the API's. */
import type { Container, Pod, PodSpec, Volume } from '../../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { checkDNSLabel, checkRequired, checkRequiredEnum, checkSupported } from './checks.ts';
import { validateEnv, validateEnvFrom } from './environment.ts';
import { duplicate, forbidden, invalid, notFound, notSupported, required, tooMany } from '../../../../shared/kubernetes/field-error.ts';
import { validateLifecycle, validateProbes } from './handlers.ts';
import { validateHostPortConflicts, validatePorts } from './ports.ts';
import { validateContainerResources } from './resources.ts';
import { validateSecurityContext } from './security-context.ts';
import { validateVolumeDevices, validateVolumeMounts } from './volume-mounts.ts';

/** The properties of the pod that container checks need. */
export interface PodContext {
  readonly pod: Pod;
  readonly gates: ManifestGates;
  /** The valid volumes, by name. */
  readonly volumes: ReadonlyMap<string, Volume>;
  /** The names of the pod's resource claims. */
  readonly claimNames: ReadonlySet<string>;
}

export function validateContainers(context: PodContext, path: string, errors: string[]): void {
  const { spec } = context.pod;
  if (spec.containers.length === 0) return void errors.push(required(path));
  const names = new Set<string>();
  for (const [index, container] of spec.containers.entries()) {
    const containerPath = `${path}[${index}]`;
    validateCommon(container, context, containerPath, errors);
    if (names.has(container.name)) errors.push(duplicate(`${containerPath}.name`, container.name));
    names.add(container.name);
    if (container.lifecycle) validateLifecycle(container.lifecycle, spec, `${containerPath}.lifecycle`, errors);
    validateProbes(container, containerPath, errors);
    if (context.gates.ContainerRestartRules) validateRestartPolicy(container, context.gates, containerPath, errors);
    else if (container.restartPolicy !== undefined) {
      errors.push(forbidden(`${containerPath}.restartPolicy`, 'may not be set for non-init containers'));
    }
  }
  validateHostPortConflicts(spec.containers, path, errors);
}

export function validateInitContainers(context: PodContext, path: string, errors: string[]): void {
  const { spec } = context.pod;
  const names = new Set(spec.containers.map(({ name }) => name));
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const containerPath = `${path}[${index}]`;
    validateCommon(container, context, containerPath, errors);
    validateInitRestartPolicy(container, context.gates, containerPath, errors);
    if (names.has(container.name)) errors.push(duplicate(`${containerPath}.name`, container.name));
    names.add(container.name);
    // Init containers run one after another, so ports conflict only within one container.
    validateHostPortConflicts([container], path, errors);
    if (isRestartableInitContainer(container)) {
      if (container.lifecycle) validateLifecycle(container.lifecycle, spec, `${containerPath}.lifecycle`, errors);
      validateProbes(container, containerPath, errors);
    } else forbidSidecarFields(container, containerPath, errors);
  }
}

function forbidSidecarFields(container: Container, path: string, errors: string[]): void {
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (!container[field]) continue;
    errors.push(forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always'));
  }
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue;
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    errors.push(invalid(`${path}.resizePolicy[${index}].restartPolicy`, restartPolicy, detail));
  }
}

function validateCommon(container: Container, { pod, gates, volumes, claimNames }: PodContext, path: string, errors: string[]): void {
  if (!container.name) errors.push(required(`${path}.name`));
  else checkDNSLabel(container.name, `${path}.name`, errors);
  checkRequired(container.image, `${path}.image`, errors);
  if (container.image && container.image.trim() !== container.image) {
    errors.push(invalid(`${path}.image`, container.image, 'must not have leading or trailing whitespace'));
  }
  checkRequiredEnum(container.terminationMessagePolicy, `${path}.terminationMessagePolicy`, ['File', 'FallbackToLogsOnError'], errors);
  validatePorts(container.ports ?? [], `${path}.ports`, errors);
  validateEnv(container.env ?? [], gates, `${path}.env`, errors);
  validateFileKeyVolumes(container, volumes, `${path}.env`, errors);
  validateEnvFrom(container.envFrom ?? [], `${path}.envFrom`, errors);
  validateVolumeMounts(container, volumes, `${path}.volumeMounts`, errors);
  validateVolumeDevices(container, volumes, `${path}.volumeDevices`, errors);
  checkRequiredEnum(container.imagePullPolicy, `${path}.imagePullPolicy`, ['Always', 'IfNotPresent', 'Never'], errors);
  validateContainerResources(container.resources, claimNames, `${path}.resources`, errors);
  validateResizePolicy(container.resizePolicy ?? [], pod.spec, `${path}.resizePolicy`, errors);
  validateSecurityContext(container.securityContext, pod.spec.hostUsers ?? true, `${path}.securityContext`, errors);
}

/** A fileKeyRef must refer to a volume that the pod's own containers can write. */
function validateFileKeyVolumes({ env = [] }: Container, volumes: PodContext['volumes'], path: string, errors: string[]): void {
  for (const [index, { valueFrom }] of env.entries()) {
    const name = valueFrom?.fileKeyRef?.volumeName;
    if (name === undefined) continue;
    const volumeNamePath = `${path}[${index}].valueFrom.fileKeyRef.volumeName`;
    const volume = volumes.get(name);
    if (!volume) errors.push(notFound(volumeNamePath, name));
    else if (!volume.emptyDir) errors.push(invalid(volumeNamePath, name, 'referenced volume must be of type emptyDir'));
  }
}

function validateResizePolicy(
  policies: NonNullable<Container['resizePolicy']>,
  { restartPolicy: podRestartPolicy }: PodSpec,
  path: string,
  errors: string[],
): void {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of policies.entries()) {
    if (seen.has(resourceName)) errors.push(duplicate(`${path}[${index}]`, resourceName));
    seen.add(resourceName);
    checkRequiredEnum(resourceName, path, ['cpu', 'memory'], errors);
    checkRequiredEnum(restartPolicy, path, ['NotRequired', 'RestartContainer'], errors);
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      errors.push(invalid(path, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
  }
}

const maxRestartRules = 20;
const maxExitCodes = 255;

function validateInitRestartPolicy(container: Container, gates: ManifestGates, path: string, errors: string[]): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  const isSidecar = restartPolicy === 'Always';
  if (restartPolicy !== undefined && !gates.ContainerRestartRules) {
    if (!isSidecar) errors.push(notSupported(`${path}.restartPolicy`, restartPolicy, ['Always']));
  } else if (isSidecar && !gates.RestartAllContainersOnContainerExits) {
    const detail = 'restartPolicyRules are not allowed for init containers with restart policy Always';
    if (rules.length > 0) errors.push(forbidden(`${path}.restartPolicyRules`, detail));
  } else if (restartPolicy !== undefined) {
    validateRestartPolicy(container, gates, path, errors);
  } else if (rules.length > 0) {
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
}

function validateRestartPolicy(container: Container, gates: ManifestGates, path: string, errors: string[]): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  checkSupported(restartPolicy, `${path}.restartPolicy`, ['Always', 'Never', 'OnFailure'], errors);
  if (restartPolicy === undefined && rules.length > 0) {
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > maxRestartRules) errors.push(tooMany(`${path}.restartPolicyRules`, rules.length, maxRestartRules));
  const actions = gates.RestartAllContainersOnContainerExits ? ['Restart', 'RestartAllContainers'] : ['Restart'];
  for (const [index, { action, exitCodes }] of rules.entries()) {
    const rulePath = `${path}.restartPolicyRules[${index}]`;
    checkSupported(action, `${rulePath}.action`, actions, errors);
    if (!exitCodes) {
      errors.push(required(`${rulePath}.exitCodes`, 'must be specified'));
      continue;
    }
    const { operator, values = [] } = exitCodes;
    if (operator !== 'In' && operator !== 'NotIn') errors.push(notSupported(`${rulePath}.exitCodes.operator`, operator, ['In', 'NotIn']));
    if (values.length > maxExitCodes) errors.push(tooMany(`${rulePath}.exitCodes.values`, values.length, maxExitCodes));
  }
}
