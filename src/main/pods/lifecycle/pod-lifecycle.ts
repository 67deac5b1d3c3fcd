/**
 * The lifecycle of one pod UID in its pod worker. Pure. Upstream: podSyncStatus in pkg/kubelet/pod_workers.go.
 *
 *   syncing ──kill, removed, completed──▶ terminating ──containersStopped──▶ terminated ──finished──▶ terminated and finished ──▶ (forgotten)
 *      │                                     ▲
 *      └── update: deleted or terminal ──────┘            foundInRuntime: starts here, without a spec
 *
 *  - A UID never moves left. A UID that is recreated waits (`restartRequested`) until its worker is forgotten.
 *  - From `terminating` on, no container of this UID starts. The grace period only shrinks.
 *  - Containers may end before their sandboxes (`containersEnded`): the final status can be published then.
 *  - `deleted` and `evicted` decide when the containers and logs of the pod may be removed.
 */
import { calculateEffectiveGracePeriod } from '../termination/effective-grace-period.ts';

export type PodLifecycle =
  | { readonly state: 'syncing'; readonly started: boolean }
  | ({
      readonly state: 'terminating';
      readonly started: boolean;
      /** Null: the grace period of the pod, or of its annotations in the runtime. */
      readonly gracePeriodSeconds: number | null;
      /** No container runs any more; sandboxes may. */
      readonly containersEnded?: true;
    } & Ending)
  | ({ readonly state: 'terminated'; readonly finished: boolean } & Ending);

/** Why and how the pod terminates. */
interface Ending {
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** The UID was recreated meanwhile: its worker is forgotten as soon as the pod is finished, so that the UID can start again. */
  readonly restartRequested: boolean;
}

/** The fields of a pod that its lifecycle depends on. */
export interface PodFacts {
  readonly deletionRequested: boolean;
  readonly deletionGracePeriodSeconds: number | null;
  readonly terminationGracePeriodSeconds: number | null;
  /** The source's status has the phase Succeeded or Failed. */
  readonly phaseTerminal: boolean;
}

export type LifecycleEvent =
  | { readonly type: 'updated'; readonly update: 'create' | 'update'; readonly pod: PodFacts }
  /** No source wants the pod any more. */
  | { readonly type: 'removed'; readonly pod: PodFacts }
  | {
      readonly type: 'killRequested';
      readonly pod: PodFacts;
      readonly evicted: boolean;
      readonly gracePeriodOverrideSeconds: number | null;
    }
  /** Only the runtime knows the pod. */
  | { readonly type: 'foundInRuntime' }
  /** The first sync begins: from now on the runtime may have something of the pod. */
  | { readonly type: 'started' }
  /** Every container has exited and none will restart. */
  | { readonly type: 'completed' }
  | { readonly type: 'containersEnded' }
  /** The sandboxes are stopped too. */
  | { readonly type: 'containersStopped' }
  /** Nothing of the pod is left on this node. */
  | { readonly type: 'finished' };

const notEnding: Ending = { deleted: false, evicted: false, restartRequested: false };

/**
 * The state of a new UID. A pod with a terminal phase that does not run was terminated before this kubelet started: only its cleanup may be
 * missing.
 */
export function initialLifecycle(pod: PodFacts, runsInRuntime: boolean): PodLifecycle {
  if (pod.phaseTerminal && !runsInRuntime) return { state: 'terminated', finished: false, ...notEnding };
  return { state: 'syncing', started: false };
}

/** Returns the next state, or the same object when the event changes nothing. */
export function advanceLifecycle(pod: PodLifecycle, event: LifecycleEvent): PodLifecycle {
  switch (event.type) {
    case 'updated':
      return updated(pod, event);
    case 'removed':
      return terminate(pod, { pod: event.pod, deleted: true });
    case 'killRequested':
      return terminate(pod, { pod: event.pod, evicted: event.evicted, override: event.gracePeriodOverrideSeconds });
    case 'foundInRuntime':
      if (pod.state !== 'syncing') return pod;
      return { ...notEnding, state: 'terminating', started: true, gracePeriodSeconds: null, deleted: true };
    case 'started':
      return pod.state !== 'terminated' && !pod.started ? { ...pod, started: true } : pod;
    case 'completed':
      if (pod.state !== 'syncing') return pod;
      return { ...notEnding, state: 'terminating', started: pod.started, gracePeriodSeconds: null };
    case 'containersEnded':
      return pod.state === 'terminating' && !pod.containersEnded ? { ...pod, containersEnded: true } : pod;
    case 'containersStopped':
      return pod.state === 'terminating' ? toTerminated(pod) : pod;
    case 'finished':
      return pod.state === 'terminated' && !pod.finished ? { ...pod, finished: true } : pod;
    default:
      return event satisfies never;
  }
}

function updated(pod: PodLifecycle, { update, pod: facts }: Extract<LifecycleEvent, { type: 'updated' }>): PodLifecycle {
  if (pod.state !== 'syncing' && update === 'create') return pod.restartRequested ? pod : { ...pod, restartRequested: true };
  if (pod.state === 'terminated') return pod;
  if (pod.state === 'syncing' && !facts.deletionRequested && !facts.phaseTerminal) return pod;
  return terminate(pod, { pod: facts, deleted: facts.deletionRequested });
}

interface Termination {
  readonly pod: PodFacts;
  readonly deleted?: boolean;
  readonly evicted?: boolean;
  readonly override?: number | null;
}

function terminate(pod: PodLifecycle, { pod: facts, deleted = false, evicted = false, override = null }: Termination): PodLifecycle {
  if (pod.state === 'terminated') return deleted && !pod.deleted ? { ...pod, deleted } : pod;
  const before = pod.state === 'terminating' ? pod : { ...notEnding, gracePeriodSeconds: null };
  const next = {
    state: 'terminating',
    started: pod.started,
    gracePeriodSeconds: calculateEffectiveGracePeriod({
      currentSeconds: before.gracePeriodSeconds,
      deletionSeconds: facts.deletionGracePeriodSeconds,
      overrideSeconds: override,
      specSeconds: facts.terminationGracePeriodSeconds,
    }),
    deleted: before.deleted || deleted,
    // Only the first reason to terminate counts.
    evicted: pod.state === 'terminating' ? pod.evicted : evicted,
    restartRequested: before.restartRequested,
    ...(pod.state === 'terminating' && pod.containersEnded && { containersEnded: pod.containersEnded }),
  } as const;
  const isUnchanged = pod.state === 'terminating' && pod.gracePeriodSeconds === next.gracePeriodSeconds && pod.deleted === next.deleted;
  return isUnchanged ? pod : next;
}

type Ended = Extract<PodLifecycle, { state: 'terminated' }> | (Extract<PodLifecycle, { state: 'terminating' }> & { containersEnded: true });

/** Whether no container runs or will run again. */
export function haveContainersEnded(pod: PodLifecycle): pod is Ended {
  return pod.state === 'terminated' || (pod.state === 'terminating' && pod.containersEnded === true);
}

function toTerminated({ deleted, evicted, restartRequested }: PodLifecycle & { state: 'terminating' }): PodLifecycle {
  return { state: 'terminated', finished: false, deleted, evicted, restartRequested };
}
