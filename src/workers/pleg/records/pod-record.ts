/** The pleg thread's records of a pod, its sandboxes and its containers: their state, and the state last reported to main. */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, PodSandbox } from '../../../shared/cri/generated/cri-v1.ts';
import type { ContainerID, PodUID } from '../../../shared/kubernetes/ids.ts';
import { containerPlegState, sandboxPlegState, type PlegState } from '../lifecycle-events.ts';
import { toListedContainerStatus, toListedSandboxStatus } from '../runtime-status/to-runtime-status.ts';

interface ItemBase {
  /** The ID of a sandbox too: events treat a sandbox as a container, as upstream. */
  readonly id: ContainerID;
  readonly pod: PodRecord;
  /** The CRI's number of the state. */
  rawState: number;
  state: PlegState;
  /** The state last reported to main. */
  reported: PlegState;
  /** Monotonic ms of the latest reply about the item. */
  updatedAtMs: number;
  /** The position in the index. −1 after the removal. */
  slot: number;
  /** The row in the snapshot. Undefined until the item's creation time is known, and when the snapshot is full. */
  row: number | undefined;
  /** The status comes from a status call, not from a list. */
  inspected: boolean;
  /** The status was inspected and cannot change, so inspections skip the item. */
  final: boolean;
}
export interface SandboxItem extends ItemBase {
  readonly kind: 'sandbox';
  status: RuntimeSandboxStatus;
  /** The sandbox's image. Undefined until it is read, and when the runtime does not name it. */
  image?: string;
}
export interface ContainerItem extends ItemBase {
  readonly kind: 'container';
  status: RuntimeContainerStatus;
  /** Monotonic ms at which an inspection first found the container exited. */
  exitSeenAtMs?: number;
  /** Monotonic ms at which the status is read again. */
  nextReadAtMs?: number;
}
export type Item = SandboxItem | ContainerItem;

export interface PodRecord {
  readonly uid: PodUID;
  readonly name: string;
  readonly namespace: string;
  /** Keyed by ID. Removed items stay until main has their events. */
  readonly items: Map<string, Item>;
  /** The status last posted to main. Null when main has no status of the pod. */
  posted: RuntimePodStatus | null;
  /** Monotonic ms before which relists do not inspect the pod. */
  inspectAtMs: number;
  /** The last inspection failed. The next posts a PodSync when no other event triggers a sync. */
  reinspect: boolean;
}

export interface PodMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export function newPodRecord({ uid, name, namespace }: PodMetadata): PodRecord {
  return { uid: uid as PodUID, name, namespace, items: new Map(), posted: null, inspectAtMs: 0, reinspect: false };
}

/** Whether the pod has a ready sandbox. */
export function hasReadySandbox({ items }: PodRecord): boolean {
  return items.values().some((item) => item.kind === 'sandbox' && item.state === 'running');
}

/** Initial values of an item before KnownItems adds it to its index. */
const unindexedItem = { reported: 'nonExistent', updatedAtMs: 0, slot: -1, row: undefined, inspected: false, final: false } as const;

export function toSandboxItem(sandbox: PodSandbox, pod: PodRecord): SandboxItem {
  const { id, state: rawState } = sandbox;
  return {
    kind: 'sandbox',
    id: id as ContainerID,
    pod,
    rawState,
    state: plegStateOf('sandbox', rawState),
    status: toListedSandboxStatus(sandbox),
    ...unindexedItem,
  };
}

export function toContainerItem(container: Container, pod: PodRecord): ContainerItem {
  const { id, state: rawState } = container;
  return {
    kind: 'container',
    id: id as ContainerID,
    pod,
    rawState,
    state: plegStateOf('container', rawState),
    status: toListedContainerStatus(container),
    ...unindexedItem,
  };
}

export function plegStateOf(kind: Item['kind'], rawState: number): PlegState {
  return kind === 'sandbox' ? sandboxPlegState(rawState) : containerPlegState(rawState);
}
