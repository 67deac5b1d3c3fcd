/** Validates requests and limits of containers and pods (upstream validateResourceRequirements). */
import type { PodSpec, ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import { labelKeyErrors } from '../../../../shared/kubernetes/names.ts';
import { isPodLevelResource, podLimits, podRequests } from '../../../../shared/kubernetes/pod-resources.ts';
import {
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  QuantityError,
  value,
} from '../../../../shared/kubernetes/quantity.ts';
import { checkDNSLabel, checkName } from './checks.ts';
import { duplicate, forbidden, invalid, keyPath, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';

type CheckName = (name: string, path: string, errors: string[]) => void;

const isHugePage = (name: string) => name.startsWith('hugepages-');
const isNative = (name: string) => !name.includes('/') || name.includes('kubernetes.io/');
/** For resources without overcommit, the request must equal the limit. */
const isOvercommitAllowed = (name: string) => isNative(name) && !isHugePage(name);
/** Extended resources, for example `example.com/gpu`. They are whole numbers. */
const isExtended = (name: string) => !isNative(name) && !name.startsWith('requests.') && labelKeyErrors(`requests.${name}`).length === 0;

/** Resource names of the API server's quotas. A container may use only the three in `containerResources`. */
const standardResources: ReadonlySet<string> = new Set(
  (
    'cpu memory ephemeral-storage storage requests.cpu requests.memory requests.ephemeral-storage requests.storage limits.cpu ' +
    'limits.memory limits.ephemeral-storage pods services services.nodeports services.loadbalancers replicationcontrollers ' +
    'resourcequotas secrets configmaps persistentvolumeclaims'
  ).split(' '),
);
const containerResources = ['cpu', 'memory', 'ephemeral-storage'];

/** Validates the resources of a container, or the overhead of a pod as limits. `claimNames` are the pod's resource claims. */
export function validateContainerResources(
  resources: ResourceRequirements | undefined,
  claimNames: ReadonlySet<string>,
  path: string,
  errors: string[],
): void {
  if (resources) validateResources(resources, checkContainerResourceName, path, errors);
  validateClaims(resources?.claims ?? [], claimNames, `${path}.claims`, errors);
}

/** Validates pod-level resources, and that the containers stay within them. */
export function validatePodResources(spec: PodSpec, path: string, errors: string[]): void {
  const { resources, os } = spec;
  if (!resources) return;
  if (os?.name === 'windows') return void errors.push(forbidden(path, 'may not be set for a windows pod'));
  if (resources.claims) errors.push(forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level'));
  validateResources(resources, checkPodResourceName, path, errors);
  const containersOnly = { skipPodLevel: true, excludeOverhead: true };
  for (const [name, sum] of Object.entries(podRequests({ spec }, containersOnly))) {
    const podRequest = resources.requests?.[name];
    if (podRequest === undefined || compareQuantities(sum, podRequest) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`;
    errors.push(invalid(keyPath(`${path}.requests`, name), podRequest, detail));
  }
  for (const [name, sum] of Object.entries(podLimits({ spec }, containersOnly))) {
    const podLimit = resources.limits?.[name];
    if (!isHugePage(name) || podLimit === undefined || compareQuantities(sum, podLimit) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container limits of ${formatQuantity(sum)}`;
    errors.push(invalid(keyPath(`${path}.limits`, name), podLimit, detail));
  }
  for (const [index, container] of spec.containers.entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const podLimit = resources.limits?.[name];
      if (podLimit === undefined || compareQuantities(limit, podLimit) <= 0) continue;
      const limitsPath = `${keyPath(`${path}.containers[${index}]`, name)}.limits`;
      errors.push(invalid(limitsPath, limit, `must be less than or equal to pod limits of ${podLimit}`));
    }
  }
}

function validateResources(resources: ResourceRequirements, checkResourceName: CheckName, path: string, errors: string[]): void {
  const { limits = {}, requests = {} } = resources;
  for (const [kind, list] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const [name, quantity] of Object.entries(list)) {
      const resourcePath = keyPath(`${path}.${kind}`, name);
      checkResourceName(name, resourcePath, errors);
      validateAmount(name, quantity, resourcePath, errors);
    }
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit === undefined) {
      if (!isOvercommitAllowed(name)) errors.push(required(`${path}.limits`, 'Limit must be set for non overcommitable resources'));
      continue;
    }
    const order = compareQuantities(quantity, limit);
    if (order !== 0 && !isOvercommitAllowed(name)) {
      errors.push(invalid(`${path}.requests`, quantity, `must be equal to ${name} limit of ${limit}`));
    } else if (order > 0) {
      errors.push(invalid(`${path}.requests`, quantity, `must be less than or equal to ${name} limit of ${limit}`));
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePage) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbidden(path, 'HugePages require cpu or memory'));
  }
}

function validateAmount(name: string, quantity: string, path: string, errors: string[]): void {
  if (compareQuantities(quantity, '0') < 0) errors.push(invalid(path, quantity, 'must be greater than or equal to 0'));
  if (isExtended(name) && milliValue(quantity) % 1000 !== 0) errors.push(invalid(path, quantity, 'must be an integer'));
  if (isHugePage(name) && !isWholePages(name, quantity)) {
    errors.push(invalid(path, quantity, `${quantity} is not positive integer multiple of ${name}`));
  }
}

function isWholePages(name: string, quantity: string): boolean {
  try {
    const pageSize = parseQuantity(name.slice('hugepages-'.length));
    if (pageSize.nanos <= 0n || milliValue(pageSize) % 1000 !== 0) return false;
    return value(quantity) % value(pageSize) === 0;
  } catch (err) {
    if (err instanceof QuantityError) return false;
    throw err;
  }
}

/** Returns whether the name is a standard resource, a hugepage size or a qualified name. Reports an error otherwise. */
function checkResourceForm(name: string, path: string, errors: string[]): boolean {
  const errorsBefore = errors.length;
  checkName(name, path, labelKeyErrors, errors);
  if (errors.length > errorsBefore) return false;
  if (name.includes('/') || standardResources.has(name) || isHugePage(name) || name.startsWith('requests.hugepages-')) return true;
  errors.push(invalid(path, name, 'must be a standard resource type or fully qualified'));
  return false;
}

function checkContainerResourceName(name: string, path: string, errors: string[]): void {
  checkResourceForm(name, path, errors);
  if (!name.includes('/')) {
    if (containerResources.includes(name) || isHugePage(name)) return;
    errors.push(invalid(path, name, 'must be a standard resource for containers'));
  } else if (!isNative(name) && !isExtended(name)) {
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"));
  }
}

function checkPodResourceName(name: string, path: string, errors: string[]): void {
  if (!checkResourceForm(name, path, errors) || isPodLevelResource(name)) return;
  errors.push(notSupported(path, name, ['cpu', 'hugepages-', 'memory']));
}

function validateClaims(
  claims: NonNullable<ResourceRequirements['claims']>,
  claimNames: ReadonlySet<string>,
  path: string,
  errors: string[],
): void {
  const [wholeClaims, partialClaims, requests] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const [index, { name, request }] of claims.entries()) {
    const claimPath = `${path}[${index}]`;
    if (!name) {
      errors.push(required(claimPath));
      continue;
    }
    if (request) checkDNSLabel(request, `${claimPath}.request`, errors);
    const key = request ? `${name}/${request}` : name;
    // A claim without a request includes each of its requests.
    if (wholeClaims.has(name) || requests.has(key) || (!request && partialClaims.has(name)))
      errors.push(duplicate(claimPath, wholeClaims.has(name) ? name : key));
    if (request) partialClaims.add(name);
    else wholeClaims.add(name);
    requests.add(key);
    if (claimNames.has(name)) continue;
    const knownNames = claimNames.size === 0 ? ' which is empty' : `: ${[...claimNames].sort().join(', ')}`;
    errors.push(`${claimPath}: Not found: "${name}": must be one of the names in pod.spec.resourceClaims${knownNames}`);
  }
}
