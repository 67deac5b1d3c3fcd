/**
 * What the eviction manager (src/main/eviction) sees now, and what it would do: a dry run, for operators. `kubelet eviction` renders it, and
 * /debug/eviction serves it as JSON. It evicts nothing, reclaims nothing, and changes no condition.
 */
import type { PodUID } from '../kubernetes/ids.ts';
import type { QosClass } from '../kubernetes/qos-class.ts';

export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;
export type EvictionSignal = (typeof evictionSignals)[number];

/** What a signal is short of. Memory and ephemeral storage are in bytes; inodes and processes are counts. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** A step that frees a resource without ending a pod: dead containers, unused images. */
export type NodeReclaim = 'deadContainers' | 'unusedImages';

export interface EvictionPlan {
  /** RFC 3339. */
  readonly plannedAt: string;
  /** RFC 3339: the end of the last pass of the manager. Null: none has ended yet. */
  readonly lastPassAt: string | null;
  /** Why the last pass could not decide, for example because the usage is not known. Null: it could. */
  readonly problem: string | null;
  /** Images, and writable layers of containers, on filesystems of their own. Null: not known yet. */
  readonly filesystems: { readonly dedicatedImageFs: boolean; readonly splitContainerFs: boolean } | null;
  readonly pressureTransitionPeriodSeconds: number;
  readonly maxPodGracePeriodSeconds: number;
  /** The conditions that the Node reports. */
  readonly conditions: readonly PlannedCondition[];
  /** The observed signals. One that could not be observed is missing. */
  readonly signals: readonly ObservedSignal[];
  /** In the order of `evictionSignals`, hard before soft. */
  readonly thresholds: readonly PlannedThreshold[];
  /** Node-level reclaim runs. No other begins before its end. */
  readonly isReclaiming: boolean;
  /** What a pass would do now for a starved resource. Null: no threshold asks for it. */
  readonly action: PlannedAction | null;
  /** The pods, in the order in which they would be evicted for `ranking.signal`. */
  readonly ranking: PodRanking;
  /** Pods that exceed a limit of local storage. A pass evicts all of them first, and nothing else then. */
  readonly localStorageViolations: readonly LocalStorageViolation[];
}

export interface PlannedCondition {
  readonly type: PressureCondition;
  readonly status: boolean;
  /** RFC 3339: when a threshold was last met. Null: never since the start. The condition stays for the transition period after it. */
  readonly lastObservedAt: string | null;
}

export interface ObservedSignal {
  readonly signal: EvictionSignal;
  readonly resource: StarvedResource;
  readonly available: number;
  readonly capacity: number;
  /** RFC 3339. */
  readonly observedAt: string;
  readonly ageSeconds: number;
}

export interface PlannedThreshold {
  readonly signal: EvictionSignal;
  readonly resource: StarvedResource;
  readonly kind: 'hard' | 'soft';
  /** As configured: `100Mi`, `10%`. */
  readonly value: string;
  /** The value as a number. Null: a percentage of a capacity that is not known. */
  readonly quantity: number | null;
  /** As configured. Null: none. */
  readonly minReclaim: string | null;
  readonly minReclaimQuantity: number | null;
  /** Null for a signal that is not observed. */
  readonly available: number | null;
  /** Less than the quantity is available; or a met threshold has not reached its minimum reclaim yet. */
  readonly met: boolean;
  /** 0 for a hard threshold. */
  readonly gracePeriodSeconds: number;
  /** Of a met threshold, until it causes evictions. 0: it does. Null: not met. */
  readonly graceLeftSeconds: number | null;
}

export interface PlannedAction {
  readonly signal: EvictionSignal;
  readonly resource: StarvedResource;
  readonly threshold: string;
  /** In this order, before a pod is evicted. No pod is, if they suffice. */
  readonly nodeReclaim: readonly NodeReclaim[];
  /** The pod that is evicted if node-level reclaim does not suffice. Null: no pod can be. */
  readonly victim: PodUID | null;
}

export interface PodRanking {
  /** The signal of the action, or the one that was asked for; `memory.available` if there is neither. */
  readonly signal: EvictionSignal;
  readonly resource: StarvedResource;
  readonly pods: readonly RankedPod[];
}

export interface RankedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUID;
  readonly priority: number;
  readonly qosClass: QosClass;
  /** Of the starved resource. Null: not known; such a pod goes first. */
  readonly usage: number | null;
  readonly request: number;
  /** Null for processes: requests have none. */
  readonly exceedsRequest: boolean | null;
  /** Null: it can. */
  readonly notEvictableBecause: 'static' | 'mirror' | 'critical priority' | null;
  /** It was evicted, and has not finished. */
  readonly isEvicted: boolean;
  /** The status message that the pod would get, and the grace period that it would have. */
  readonly message: string;
  readonly gracePeriodSeconds: number;
}

export interface LocalStorageViolation {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUID;
  /** The label of kubelet_evictions. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly usedBytes: number;
  readonly limitBytes: number;
  readonly notEvictableBecause: RankedPod['notEvictableBecause'];
  readonly message: string;
}

/** Main's side. `signal` chooses the ranking; without it, the plan shows that of the action. */
export type PlanEviction = (signal?: EvictionSignal) => EvictionPlan;
