/**
 * The plan of the eviction manager (src/main/eviction): what it observes now, and what it would do. `kubelet eviction` renders the plan for operators, and
 * /debug/eviction serves it as JSON. The plan is a dry run: it evicts nothing, reclaims nothing, and changes no condition.
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

/** The resource that a signal measures. Memory and ephemeral storage are in bytes; inodes and processes are counts. */
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
  /** Whether images, and the writable layers of containers, have filesystems of their own. Null: not known yet. */
  readonly filesystems: { readonly dedicatedImageFs: boolean; readonly splitContainerFs: boolean } | null;
  readonly pressureTransitionPeriodSeconds: number;
  readonly maxPodGracePeriodSeconds: number;
  /** The conditions that the Node reports. */
  readonly conditions: readonly PlannedCondition[];
  /** A signal that could not be observed is absent. */
  readonly signals: readonly ObservedSignal[];
  /** In the order of `evictionSignals`, hard before soft. */
  readonly thresholds: readonly PlannedThreshold[];
  /** Node-level reclaim runs. The next one begins only after its end. */
  readonly isReclaiming: boolean;
  /** What a pass would do now for a starved resource. Null: no threshold requires an action. */
  readonly action: PlannedAction | null;
  /** The pods, in the order in which they would be evicted for `ranking.signal`. */
  readonly ranking: PodRanking;
  /** Pods that exceed a limit of local storage. A pass that finds such pods evicts all of them, and does nothing else. */
  readonly localStorageViolations: readonly LocalStorageViolation[];
}

export interface PlannedCondition {
  readonly type: PressureCondition;
  readonly status: boolean;
  /** RFC 3339: when a threshold was last met. Null: never since the start. The condition stays true for the transition period after this time. */
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
  /** The minimum reclaim, as configured. Null: none. */
  readonly minReclaim: string | null;
  readonly minReclaimQuantity: number | null;
  /** Null: the signal is not observed. */
  readonly available: number | null;
  /** Less than the quantity is available; or the threshold was met before, and its minimum reclaim is not reached yet. */
  readonly met: boolean;
  /** 0 for a hard threshold. */
  readonly gracePeriodSeconds: number;
  /** The time until a met threshold causes evictions. 0: the threshold causes them now. Null: it is not met. */
  readonly graceLeftSeconds: number | null;
}

export interface PlannedAction {
  readonly signal: EvictionSignal;
  readonly resource: StarvedResource;
  readonly threshold: string;
  /** The steps of node-level reclaim, in order. A pod is evicted only when they do not free enough. */
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
  /** The pod's usage and request of `PodRanking.resource`. Null: the usage is not known; such a pod is evicted first. */
  readonly usage: number | null;
  readonly request: number;
  /** Null for processes: requests have none. */
  readonly exceedsRequest: boolean | null;
  /** Null: the pod can be evicted. */
  readonly notEvictableBecause: 'static' | 'mirror' | 'critical priority' | null;
  /** The pod was evicted, and has not finished. */
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

/** Main's function that makes the plan. `signal` chooses the ranking; without a signal, the plan shows the ranking of the action. */
export type PlanEviction = (signal?: EvictionSignal) => EvictionPlan;
