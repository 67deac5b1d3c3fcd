/**
 * Updates an existing Node for this kubelet at registration. Pure. Leaves the spec, including taints, and labels outside a fixed set
 * unchanged. Upstream: tryRegisterWithAPIServer and the functions that it calls.
 */
import type { StringMap } from '../../config/kubelet-configuration.ts';
import { sameQuantity } from '../status/node-status-patch.ts';
import { controllerManagedAttachAnnotation, operatingSystem, architecture, type Node, type ResourceList } from '../node-object.ts';
import { isExtendedResource, isHugePages } from '../../../shared/kubernetes/resource-names.ts';

/** The labels that are updated to the kubelet's settings. All other `--node-labels` apply only when the Node is created. */
const reconciledLabels = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

export interface Reconciliation {
  /** True without a checkpoint of the device manager: the node was reinstalled, and its devices are unknown until their plugins register. */
  readonly resetExtendedResources: boolean;
}

/** Returns the updated Node, or the same object if nothing changes. */
export function reconcileNode(initial: Node, existing: Node, { resetExtendedResources }: Reconciliation): Node {
  const labels = reconcileLabels(initial.metadata.labels ?? {}, existing.metadata.labels ?? {});
  const annotations = reconcileAnnotations(initial, existing);
  const capacity = existing.status?.capacity ?? initial.status?.capacity ?? {};
  const allocatable = existing.status?.allocatable ?? initial.status?.allocatable ?? {};
  const resources = reconcileHugePages(
    initial.status ?? {},
    resetExtendedResources
      ? { capacity: zeroExtended(capacity), allocatable: zeroExtended(allocatable, capacity) }
      : { capacity, allocatable },
  );
  const isSame =
    labels === existing.metadata.labels &&
    annotations === existing.metadata.annotations &&
    sameList(resources.capacity, existing.status?.capacity) &&
    sameList(resources.allocatable, existing.status?.allocatable);
  if (isSame) return existing;
  return {
    ...existing,
    metadata: { ...existing.metadata, labels, ...(annotations ? { annotations } : {}) },
    status: { ...existing.status, ...resources },
  };
}

/** Adds the labels that every Node must have; every status update restores them. Returns the same object if the Node has them. */
export function withRequiredLabels(node: Node): Node {
  const required = { 'kubernetes.io/os': operatingSystem, 'kubernetes.io/arch': architecture };
  if (Object.entries(required).every(([name, value]) => node.metadata.labels?.[name] === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...required } } };
}

function reconcileLabels(initial: StringMap, existing: StringMap): StringMap {
  const differing = reconciledLabels.filter((name) => Object.hasOwn(initial, name) && (existing[name] ?? '') !== initial[name]);
  if (differing.length === 0) return existing;
  const updatedLabels = Object.fromEntries(differing.map((name) => [name, initial[name]!]));
  // As upstream, an empty value removes the label.
  return Object.fromEntries(
    Object.entries({ ...existing, ...updatedLabels }).filter(([name, value]) => value !== '' || !differing.includes(name)),
  );
}

function reconcileAnnotations({ metadata: initial }: Node, { metadata: existing }: Node): Node['metadata']['annotations'] {
  const initialValue = initial.annotations?.[controllerManagedAttachAnnotation];
  if (existing.annotations?.[controllerManagedAttachAnnotation] === initialValue) return existing.annotations;
  const { [controllerManagedAttachAnnotation]: _, ...others } = existing.annotations ?? {};
  return initialValue === undefined ? others : { ...others, [controllerManagedAttachAnnotation]: initialValue };
}

/** @param extendedFrom the list whose extended resources are set to zero */
function zeroExtended(list: ResourceList, extendedFrom: ResourceList = list): ResourceList {
  return {
    ...list,
    ...Object.fromEntries(
      Object.keys(extendedFrom)
        .filter(isExtendedResource)
        .map((name) => [name, '0']),
    ),
  };
}

interface Resources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

/** Removes huge page sizes that the host no longer has, and updates the others. */
function reconcileHugePages(initial: Node['status'] & {}, { capacity, allocatable }: Resources): Resources {
  const sizes = Object.keys(initial.capacity ?? {}).filter(isHugePages);
  const withSizes = (list: ResourceList, source: ResourceList = {}): ResourceList => ({
    ...Object.fromEntries(Object.entries(list).filter(([name]) => !isHugePages(name) || sizes.includes(name))),
    ...Object.fromEntries(
      sizes.flatMap((name) => (source[name] === undefined || sameQuantity(list[name], source[name]) ? [] : [[name, source[name]]])),
    ),
  });
  return { capacity: withSizes(capacity, initial.capacity), allocatable: withSizes(allocatable, initial.allocatable) };
}

function sameList(a: ResourceList, b: ResourceList | undefined): boolean {
  return (
    b !== undefined &&
    Object.keys(a).length === Object.keys(b).length &&
    Object.entries(a).every(([name, amount]) => sameQuantity(amount, b[name]))
  );
}
