/**
 * The life of one pod UID, as its pod worker sees it (upstream: podSyncStatus in pkg/kubelet/pod_workers.go).
 *
 *   syncing ──kill, removed, completed──▶ terminating ──containersStopped──▶ terminated ──cleanedUp──▶ finished ──▶ (forgotten)
 *      │                                     ▲
 *      └── update: deleted or terminal ──────┘            foundInRuntime: born terminating, its spec unknown
 *
 *  - A UID never moves left. One that is created again before it is forgotten waits (`restartRequested`) until then.
 *  - From `terminating` on, no container of this UID is started. The grace period only shrinks.
 *  - Its containers may have ended before its sandboxes have (`containersEnded`): then its end can be told.
 *  - `deleted` and `evicted` are remembered: what they left behind may be collected sooner.
 */
import { calculateEffectiveGracePeriod } from '../termination/effective-grace-period.ts';

export type PodLifecycle =
  | { readonly state: 'syncing'; readonly started: boolean }
  | ({
      readonly state: 'terminating';
      readonly started: boolean;
      /** Null: as the pod, or what is left of it in the runtime, says itself. */
      readonly gracePeriodSeconds: number | null;
      /** None of its containers runs any more; its sandboxes may. */
      readonly containersEnded?: true;
    } & Ending)
  | ({ readonly state: 'terminated'; readonly finished: boolean } & Ending);

/** What is remembered of how a pod came to its end. */
interface Ending {
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** It was created again meanwhile: its history goes as soon as it is finished, so that it can start anew. */
  readonly restartRequested: boolean;
}

/** What of a pod's spec and metadata the lifecycle looks at. */
export interface PodFacts {
  readonly deletionRequested: boolean;
  readonly deletionGracePeriodSeconds: number | null;
  readonly terminationGracePeriodSeconds: number | null;
  /** The source says Succeeded or Failed. */
  readonly phaseTerminal: boolean;
}

export type LifecycleEvent =
  | { readonly type: 'updated'; readonly update: 'create' | 'update'; readonly pod: PodFacts }
  /** No source wants it any more. */
  | { readonly type: 'removed'; readonly pod: PodFacts }
  | {
      readonly type: 'killRequested';
      readonly pod: PodFacts;
      readonly evicted: boolean;
      readonly gracePeriodOverrideSeconds: number | null;
    }
  /** Only the runtime knows it. */
  | { readonly type: 'foundInRuntime' }
  /** Its turn has come: from now on the runtime may have something of it. */
  | { readonly type: 'started' }
  /** It ran to its end by itself: every container is done for good. */
  | { readonly type: 'completed' }
  | { readonly type: 'containersEnded' }
  /** And its sandboxes. */
  | { readonly type: 'containersStopped' }
  | { readonly type: 'cleanedUp' };

const alive: Ending = { deleted: false, evicted: false, restartRequested: false };

/**
 * How a UID begins that was never seen before. One that its source calls terminal, and that the runtime runs nothing of, has been
 * through its termination before this kubelet started: only the cleaning up may be missing.
 */
export function initialLifecycle(pod: PodFacts, runsInRuntime: boolean): PodLifecycle {
  if (pod.phaseTerminal && !runsInRuntime) return { state: 'terminated', finished: false, ...alive };
  return { state: 'syncing', started: false };
}

/** The next state, or the same object when the event changes nothing. */
export function advance(pod: PodLifecycle, event: LifecycleEvent): PodLifecycle {
  switch (event.type) {
    case 'updated':
      return updated(pod, event);
    case 'removed':
      return terminate(pod, { pod: event.pod, deleted: true });
    case 'killRequested':
      return terminate(pod, { pod: event.pod, evicted: event.evicted, override: event.gracePeriodOverrideSeconds });
    case 'foundInRuntime':
      if (pod.state !== 'syncing') return pod;
      return { ...alive, state: 'terminating', started: true, gracePeriodSeconds: null, deleted: true };
    case 'started':
      return pod.state !== 'terminated' && !pod.started ? { ...pod, started: true } : pod;
    case 'completed':
      if (pod.state !== 'syncing') return pod;
      return { ...alive, state: 'terminating', started: pod.started, gracePeriodSeconds: null };
    case 'containersEnded':
      return pod.state === 'terminating' && !pod.containersEnded ? { ...pod, containersEnded: true } : pod;
    case 'containersStopped':
      return pod.state === 'terminating' ? toTerminated(pod) : pod;
    case 'cleanedUp':
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
  const before = pod.state === 'terminating' ? pod : { ...alive, gracePeriodSeconds: null };
  const next = {
    state: 'terminating',
    started: pod.started,
    gracePeriodSeconds: calculateEffectiveGracePeriod({
      current: before.gracePeriodSeconds,
      deletion: facts.deletionGracePeriodSeconds,
      override,
      spec: facts.terminationGracePeriodSeconds,
    }),
    deleted: before.deleted || deleted,
    // Only what began as an eviction is one: a pod that was already ending for another reason stays what it was.
    evicted: pod.state === 'terminating' ? pod.evicted : evicted,
    restartRequested: before.restartRequested,
    ...(pod.state === 'terminating' && pod.containersEnded && { containersEnded: pod.containersEnded }),
  } as const;
  const same = pod.state === 'terminating' && pod.gracePeriodSeconds === next.gracePeriodSeconds && pod.deleted === next.deleted;
  return same ? pod : next;
}

type Ended = Extract<PodLifecycle, { state: 'terminated' }> | (Extract<PodLifecycle, { state: 'terminating' }> & { containersEnded: true });

/** None of its containers runs, or will run again. */
export function hasEnded(pod: PodLifecycle): pod is Ended {
  return pod.state === 'terminated' || (pod.state === 'terminating' && pod.containersEnded === true);
}

function toTerminated({ deleted, evicted, restartRequested }: PodLifecycle & { state: 'terminating' }): PodLifecycle {
  return { state: 'terminated', finished: false, deleted, evicted, restartRequested };
}
