/**
 * What of a Node that exists already is brought in line with this kubelet when it registers. Pure. Taints and the rest of its spec, and
 * labels outside a fixed set, are the cluster's. Upstream: tryRegisterWithAPIServer and what it calls.
 */
import type { StringMap } from '../../config/kubelet-configuration.ts';
import { sameQuantity } from '../status/node-status-patch.ts';
import { controllerManagedAttachAnnotation, operatingSystem, architecture, type Node, type ResourceList } from '../node-object.ts';
import { isExtendedResource, isHugePages } from '../resource-names.ts';

/** The labels that follow the kubelet's settings; all others of `--node-labels` count only when the Node is made. */
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
  /** No checkpoint of the device manager: the node was made anew, and its devices are not there before their plugins say so. */
  readonly resetExtendedResources: boolean;
}

/** The existing Node as it should be; the same object when it is. */
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

/** The labels that every Node must have, which also a running kubelet keeps. The same object when they are there. */
export function withRequiredLabels(node: Node): Node {
  const required = { 'kubernetes.io/os': operatingSystem, 'kubernetes.io/arch': architecture };
  if (Object.entries(required).every(([name, value]) => node.metadata.labels?.[name] === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...required } } };
}

function reconcileLabels(initial: StringMap, existing: StringMap): StringMap {
  const differing = reconciledLabels.filter((name) => Object.hasOwn(initial, name) && (existing[name] ?? '') !== initial[name]);
  if (differing.length === 0) return existing;
  const followed = Object.fromEntries(differing.map((name) => [name, initial[name]!]));
  // A label of the followed ones with an empty value is none.
  return Object.fromEntries(
    Object.entries({ ...existing, ...followed }).filter(([name, value]) => value !== '' || !differing.includes(name)),
  );
}

function reconcileAnnotations({ metadata: initial }: Node, { metadata: existing }: Node): Node['metadata']['annotations'] {
  const wanted = initial.annotations?.[controllerManagedAttachAnnotation];
  if (existing.annotations?.[controllerManagedAttachAnnotation] === wanted) return existing.annotations;
  const { [controllerManagedAttachAnnotation]: _, ...others } = existing.annotations ?? {};
  return wanted === undefined ? others : { ...others, [controllerManagedAttachAnnotation]: wanted };
}

/** @param of the extended resources among these are set to none */
function zeroExtended(list: ResourceList, of: ResourceList = list): ResourceList {
  return {
    ...list,
    ...Object.fromEntries(
      Object.keys(of)
        .filter(isExtendedResource)
        .map((name) => [name, '0']),
    ),
  };
}

interface Resources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

/** Page sizes that the host has no more are removed; those that it has are as it has them. */
function reconcileHugePages(initial: Node['status'] & {}, { capacity, allocatable }: Resources): Resources {
  const sizes = Object.keys(initial.capacity ?? {}).filter(isHugePages);
  const withSizes = (list: ResourceList, from: ResourceList = {}): ResourceList => ({
    ...Object.fromEntries(Object.entries(list).filter(([name]) => !isHugePages(name) || sizes.includes(name))),
    ...Object.fromEntries(
      sizes.flatMap((name) => (from[name] === undefined || sameQuantity(list[name], from[name]) ? [] : [[name, from[name]]])),
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
