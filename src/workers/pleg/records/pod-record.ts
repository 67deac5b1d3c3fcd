/** A pod, a sandbox and a container as this thread keeps them: what is known of each, and what of it main was told. */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerID, PodUID } from '../../../shared/kubernetes/ids.ts';
import { containerPlegState, sandboxPlegState, type PlegState } from '../lifecycle-events.ts';

interface ItemBase {
  /** A sandbox's ID too: in events it counts as a container, as upstream. */
  readonly id: ContainerID;
  readonly pod: PodRecord;
  /** The protocol's number. */
  rawState: number;
  state: PlegState;
  /** What main was told last. */
  reported: PlegState;
  /** Monotonic ms at which the newest news of it arrived. */
  newsAtMs: number;
  /** In the index; −1 once it is gone. */
  slot: number;
  /** In the snapshot; undefined while too little is known of it, and when there is no room for it. */
  row: number | undefined;
  /** The status was asked for, not made from a list. */
  inspected: boolean;
  /** And it can't change any more: it need not be asked for again. */
  final: boolean;
}
export interface SandboxItem extends ItemBase {
  readonly kind: 'sandbox';
  status: RuntimeSandboxStatus;
}
export interface ContainerItem extends ItemBase {
  readonly kind: 'container';
  status: RuntimeContainerStatus;
}
export type Item = SandboxItem | ContainerItem;

export interface PodRecord {
  readonly uid: PodUID;
  readonly name: string;
  readonly namespace: string;
  /** By ID; with those that are gone, until main was told. */
  readonly items: Map<string, Item>;
  /** As main has it; null: main has nothing of this pod. */
  posted: RuntimePodStatus | null;
  /** The last look did not hear about everything: no sooner than this is it worth another one, unless there is news. Monotonic ms. */
  retryAtMs: number;
  /** The last look failed: the next says so with a PodSync where nothing else changed. */
  reinspect: boolean;
}

/** What a list or a status says of an item, before it has its place. */
export const unplaced = { reported: 'nonExistent', newsAtMs: 0, slot: -1, row: undefined, inspected: false, final: false } as const;

export function plegStateOf(kind: Item['kind'], rawState: number): PlegState {
  return kind === 'sandbox' ? sandboxPlegState(rawState) : containerPlegState(rawState);
}
