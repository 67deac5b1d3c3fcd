/** Validates references to the pod's own fields and to container resources, in environment variables and downward API files. */
import type { EnvVar } from '../../../../shared/kubernetes/api.ts';
import { canonicalQuantity, isZeroQuantity } from '../../../../shared/kubernetes/quantity.ts';
import { checkLabelKey } from './checks.ts';
import { invalid, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';

type FieldRef = NonNullable<NonNullable<EnvVar['valueFrom']>['fieldRef']>;
type ResourceFieldRef = NonNullable<NonNullable<EnvVar['valueFrom']>['resourceFieldRef']>;

export const volumeFieldPaths = ['metadata.name', 'metadata.namespace', 'metadata.labels', 'metadata.annotations', 'metadata.uid'];
export const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** Field paths that the API knows, whether or not this place supports them. `spec.host` is a former name. */
const knownFieldPaths = new Set([
  ...volumeFieldPaths,
  ...envFieldPaths,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
]);

/** `supported` lists the fields without subscript that are allowed here. Subscripts of labels and annotations are always allowed. */
export function validateFieldRef(ref: FieldRef, supported: readonly string[], path: string, errors: string[]): void {
  const { apiVersion, fieldPath } = ref;
  const pathOfFieldPath = `${path}.fieldPath`;
  if (!apiVersion) return void errors.push(required(`${path}.apiVersion`));
  if (!fieldPath) return void errors.push(required(pathOfFieldPath));
  if (apiVersion !== 'v1') {
    return void errors.push(invalid(pathOfFieldPath, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`));
  }
  // Avoids a regular expression, whose cost would be quadratic in the length of a malicious path.
  const bracket = fieldPath.indexOf("['", 1);
  if (bracket > 0 && fieldPath.endsWith("']") && fieldPath.length >= bracket + 4) {
    const [subscripted, key] = [fieldPath.slice(0, bracket), fieldPath.slice(bracket + 2, -2)];
    if (subscripted === 'metadata.annotations') checkLabelKey(key.toLowerCase(), path, errors);
    else if (subscripted === 'metadata.labels') checkLabelKey(key, path, errors);
    else
      errors.push(invalid(pathOfFieldPath, fieldPath, `error converting fieldPath: field label does not support subscript: ${fieldPath}`));
    return;
  }
  if (!knownFieldPaths.has(fieldPath)) {
    return void errors.push(invalid(pathOfFieldPath, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`));
  }
  const current = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  if (!supported.includes(current)) errors.push(notSupported(pathOfFieldPath, current, supported));
}

const resources = ['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [`limits.${name}`, `requests.${name}`]);
const hugePages = /^(?:limits|requests)\.hugepages-/;
const cpuDivisors = ['1m', '1'];
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** In a volume the reference must name a container. In an environment variable it defaults to the variable's container. */
export function validateResourceFieldRef(ref: ResourceFieldRef, inVolume: boolean, path: string, errors: string[]): void {
  const { containerName, resource, divisor } = ref;
  if (inVolume && !containerName) errors.push(required(`${path}.containerName`));
  else if (!resource) errors.push(required(`${path}.resource`));
  else if (!resources.includes(resource) && !hugePages.test(resource)) errors.push(notSupported(`${path}.resource`, resource, resources));
  if (divisor === undefined || isZeroQuantity(divisor)) return;
  const [supported, divisorKind] = divisorsOf(resource);
  if (!supported.includes(canonicalQuantity(divisor))) {
    const acceptedDivisors = supported === cpuDivisors ? '1m and 1' : byteDivisors.join(', ');
    errors.push(
      invalid(`${path}.divisor`, resource, `only divisor's values ${acceptedDivisors} are supported with the ${divisorKind} resource`),
    );
  }
}

function divisorsOf(resource: string): [supported: readonly string[], what: string] {
  if (resource.endsWith('.cpu')) return [cpuDivisors, 'cpu'];
  if (resource.endsWith('.memory')) return [byteDivisors, 'memory'];
  return [byteDivisors, hugePages.test(resource) ? 'hugepages' : 'local ephemeral storage'];
}
