/**
 * The timeline of a pod: when each phase of its start and of its termination began and ended, and what it waited for. Main writes it
 * (main/timeline/); tasks of the sync pool report their phases with the messages of their channel; the server thread serves it as JSON.
 */

/** Phases of a pod, in the order in which a chart shows them. The tables in shared memory store the index. */
export const timelinePhases = [
  /** From the first sight of the pod to its admission or refusal. */
  'Admission',
  /** The worker waits for its turn. */
  'Queue',
  /** A task of the sync pool runs. */
  'Sync',
  /** The time after a failed task, until the next task. */
  'Retry',
  'Volumes',
  'Sandbox',
  /** From the first sight to the first status in which all containers have started. */
  'Running',
  /** From the first sight to the first status with the condition Ready. */
  'Ready',
  /** From a change of the resources in the spec until the new ones are in force. Failed: they can never be in force. */
  'Resize',
  /** From a changed status to the API server's answer. */
  'StatusWrite',
  /** From the beginning of the termination until nothing of the pod is left but its object. */
  'Termination',
  'SandboxStop',
  'VolumeUnmount',
  'CgroupRemoval',
  /** The deletion of the pod's object. */
  'APIDelete',
  /** The removal of the pod's folder. */
  'CleanUp',
] as const;
/** Phases of one container. */
export const containerPhases = ['Image', 'Create', 'Start', 'PostStart', 'Startup', 'Readiness', 'PreStop', 'Stop'] as const;
/** What a phase waits for. The tables store the index. */
export const waitKinds = [
  'Nothing',
  /** A fresh read of the Node, before a refusal. */
  'Node',
  /** The end of less important pods. */
  'Preemption',
  /** Resources of the node that other pods have. */
  'Room',
  /** The record of the pod's exclusive resources, such as the host IDs of its user namespace, becomes durable. */
  'Allocation',
  /** An older static pod of the same name. */
  'StaticPod',
  'SyncSlot',
  'StartPermit',
  /** A limit of parallel pulls. */
  'PullQueue',
  /** The pull of the same image for another container. */
  'SharedPull',
  /** Secrets, config maps and other API objects. */
  'Objects',
  /** Containers that must terminate before this one. */
  'OtherContainers',
] as const;

export type TimelinePhase = (typeof timelinePhases)[number];
export type ContainerPhase = (typeof containerPhases)[number];
export type WaitKind = (typeof waitKinds)[number];

/** A task's report of one phase. Times are monotonic ms, which all threads of the process share. */
export type PhaseReport =
  | {
      readonly edge: 'begin';
      readonly phase: TimelinePhase | ContainerPhase;
      readonly container?: string;
      readonly atMs: number;
      /** When the next step follows although this phase has not ended: a container is killed, or a call is given up. */
      readonly dueMs?: number;
    }
  | {
      /** The open phase waits. */
      readonly edge: 'wait';
      readonly phase: TimelinePhase | ContainerPhase;
      readonly container?: string;
      readonly atMs: number;
      readonly wait: WaitKind;
    }
  | {
      /** `proceed`: the wait is over. */
      readonly edge: 'end' | 'failed' | 'proceed';
      readonly phase: TimelinePhase | ContainerPhase;
      readonly container?: string;
      readonly atMs: number;
    };

/** The body of `/debug/timeline?pod=<namespace>/<name>`. All durations are in ms. */
export interface TimelineJson {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `file`, `http` or `api`; `runtime` for a pod that only the runtime knows. */
  readonly source: string;
  readonly state: TimelineState;
  /** RFC 3339: the origin of all `startMs`. */
  readonly seenAt: string;
  /** The pod ran already when this kubelet started: its start is not part of the record. */
  readonly restored: boolean;
  /** From the first sight until the pod was ready, or until now. */
  readonly startMs: number;
  /** From the beginning of the termination until nothing of the pod was left, or until now. Absent before the termination. */
  readonly terminationMs?: number;
  readonly phases: readonly PhaseJson[];
  /** How many containers the pod has beyond the first six: these share the last rows of the record. */
  readonly mergedContainers: number;
  /** The last failure, as long as no later task succeeded. */
  readonly problem?: string;
  /** What a pod that terminates, or should terminate, still waits for. */
  readonly ledger: readonly ObstacleJson[];
}

export type TimelineState = 'Starting' | 'Running' | 'Refused' | 'Terminating' | 'Finished';

export interface PhaseJson {
  readonly phase: TimelinePhase | ContainerPhase;
  /** Absent for a phase of the pod. */
  readonly container?: string;
  /** Since `seenAt`, of the newest attempt. */
  readonly startMs: number;
  /** Until now for an open phase. */
  readonly durationMs: number;
  readonly outcome: 'open' | 'ok' | 'failed';
  /** How often the phase began; 255 stands for 255 and more. */
  readonly count: number;
  /** The size of the image that the phase Image pulled, rounded up to KiB. Absent when the image was present. */
  readonly imageBytes?: number;
  readonly wait?: { readonly for: WaitKind; readonly durationMs: number; readonly open: boolean };
}

/** One entry of the termination ledger. */
export interface ObstacleJson {
  /** `container`, `volume`, `cgroup`, `sandbox`, `api` or `kubelet`. */
  readonly kind: 'container' | 'volume' | 'cgroup' | 'sandbox' | 'api' | 'kubelet';
  /** What is waited for: `container web: its preStop hook`. */
  readonly waitsFor: string;
  /** How long the pod has waited for it, in ms. */
  readonly forMs: number;
  /** What happens next: `SIGKILL in 12 s`. */
  readonly next: string;
}

/** The body of `/debug/timeline` without a pod: the slowest pods first. */
export interface TimelineListJson {
  readonly pods: readonly TimelineSummaryJson[];
  /** All recorded pods. */
  readonly total: number;
}

export interface TimelineSummaryJson {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly state: TimelineState;
  /** The longest of its start and its termination, in ms. */
  readonly slowestMs: number;
  /** The open phase that began first, such as `Image (web)`. Without an open phase: the last phase. */
  readonly phase: string;
}
