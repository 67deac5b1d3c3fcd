/**
 * Computes the termination ledger: what the termination of a pod still waits for (obstacles), since when, and what happens next. It also covers a pod whose
 * termination should have begun. Pure: computed from the pod's timeline at each request.
 */
import type { ContainerPhase, ObstacleJson, TimelinePhase } from '../contracts/timeline.ts';
import { formatMs } from './format-duration.ts';
import type { PhaseSpan, PodTimeline } from './pod-timeline.ts';

interface Obstacle {
  readonly kind: ObstacleJson['kind'];
  readonly waitsFor: string;
  readonly next: string;
}

/** Upstream's minimumGracePeriodInSeconds, which a container gets after a preStop hook that took the whole grace period. */
const minimumGraceMs = 2000;

/** Returns the oldest obstacle first. Empty for a pod that neither terminates nor should, and for one that is gone. */
export function computeLedger(timeline: PodTimeline, nowMs: number): ObstacleJson[] {
  if (timeline.objectGoneAtMs !== null && timeline.finishedAtMs !== null) return [];
  const isTerminating = timeline.finishedAtMs !== null || timeline.spans.some(({ phase }) => phase === 'Termination');
  if (!isTerminating) return timeline.deletionWantedAtMs === null ? [] : [notBegun(timeline, timeline.deletionWantedAtMs, nowMs)];
  const open = timeline.spans.filter(({ outcome }) => outcome === 'open').sort((a, b) => a.startMs - b.startMs);
  const obstacles = open.flatMap((span) => {
    const obstacle = describe[span.phase]?.(span, timeline, nowMs);
    return obstacle ? [{ ...obstacle, forMs: Math.max(0, Math.round(nowMs - sinceMs(span, timeline.spans))) }] : [];
  });
  if (obstacles.length > 0) return obstacles;
  return timeline.finishedAtMs === null ? [betweenSteps(timeline, open, nowMs)] : objectRemains(timeline, nowMs);
}

/** Whether the end of the span is progress of the termination. */
const isStep = ({ phase }: PhaseSpan): boolean => phase !== 'StatusWrite' && phase !== 'Queue' && phase !== 'Retry';

/** When the wait for a step began: for a repeated step at the last progress of the termination, not at its last attempt. */
function sinceMs(span: PhaseSpan, spans: readonly PhaseSpan[]): number {
  return span.count === 1 && span.phase !== 'Retry' ? span.startMs : lastProgressMs(spans, span.startMs);
}

/** The last end of a step that succeeded at its first attempt. A retry also repeats steps that had succeeded, and their success is no progress. */
function lastProgressMs(spans: readonly PhaseSpan[], untilMs: number): number {
  const beganAtMs = spans.find(({ phase }) => phase === 'Termination')?.startMs ?? untilMs;
  const ends = spans.filter((one) => one.outcome === 'ok' && one.count === 1 && isStep(one) && endOf(one) <= untilMs).map(endOf);
  return Math.min(untilMs, Math.max(beganAtMs, ...ends));
}

type Describe = (span: PhaseSpan, timeline: PodTimeline, nowMs: number) => Obstacle | undefined;

/** Describes an open phase as an obstacle. A phase that is missing here, or for which the function returns undefined, is not an obstacle. */
const describe: Readonly<Partial<Record<TimelinePhase | ContainerPhase, Describe>>> = {
  PreStop: (span, _timeline, nowMs) => ({
    kind: 'container',
    waitsFor: `container ${span.container}: its preStop hook`,
    next: due(span, nowMs, {
      before: (ms) => `the hook is given up in ${ms}; then SIGTERM, and SIGKILL ${formatMs(minimumGraceMs)} later`,
      after: 'the hook is being given up; then SIGTERM and SIGKILL',
    }),
  }),
  Stop: (span, _timeline, nowMs) =>
    span.waitingSinceMs === null
      ? {
          kind: 'container',
          waitsFor: `container ${span.container}: its exit after SIGTERM`,
          next: due(span, nowMs, {
            before: (ms) => `SIGKILL in ${ms}`,
            after:
              'the runtime was to send SIGKILL: its answer to StopContainer is awaited; without one until runtimeRequestTimeout the call is repeated',
          }),
        }
      : {
          kind: 'container',
          waitsFor: `container ${span.container}: containers that must terminate before it`,
          next: due(span, nowMs, {
            before: (ms) => `SIGTERM when they have terminated, at the latest in ${ms}`,
            after: 'SIGTERM follows',
          }),
        },
  SandboxStop: () => ({
    kind: 'sandbox',
    waitsFor: 'the runtime: StopPodSandbox',
    next: 'the volumes are unmounted; StopPodSandbox is repeated when it fails, or has no answer until runtimeRequestTimeout',
  }),
  VolumeUnmount: () => ({
    kind: 'volume',
    waitsFor: 'the unmount of volumes, and the removal of their data',
    next: 'the cgroup is removed; the unmount is repeated when it fails or reaches its deadline',
  }),
  CgroupRemoval: () => ({
    kind: 'cgroup',
    waitsFor: 'the removal of the cgroup: its processes must end',
    next: 'the final status is written; the removal is repeated when it fails',
  }),
  Retry: (span, { spans, problem }, nowMs) => {
    const failed = lastFailedStep(spans);
    const subject = failed?.container === undefined ? '' : `container ${failed.container}: `;
    return {
      kind: kindOf(failed),
      waitsFor: `${subject}${problem === '' ? 'a retry after a failure' : `a retry after: ${problem}`}`,
      next: due(span, nowMs, { before: (ms) => `${retried(failed)} in ${ms}`, after: `${retried(failed)} now` }),
    };
  },
  StatusWrite: (span, { finishedAtMs, problem }, nowMs) =>
    finishedAtMs === null
      ? undefined
      : {
          kind: 'api',
          waitsFor: `the API server: the write of the final status${problem === '' ? '' : ` (${problem})`}`,
          next: due(span, nowMs, { before: (ms) => `the write is repeated in ${ms}`, after: 'the object is deleted after the write' }),
        },
  APIDelete: (span, { problem }, nowMs) => ({
    kind: 'api',
    waitsFor: `the API server: DELETE of the pod${problem === '' ? '' : ` (${problem})`}`,
    next: due(span, nowMs, { before: (ms) => `DELETE is retried in ${ms}`, after: 'the object is gone after its answer' }),
  }),
  CleanUp: () => ({ kind: 'volume', waitsFor: 'the removal of the pod’s folder', next: 'nothing of the pod is left then' }),
};

function due(
  { startMs, dueAfterMs }: PhaseSpan,
  nowMs: number,
  texts: { readonly before: (ms: string) => string; readonly after: string },
): string {
  const leftMs = startMs + dueAfterMs - nowMs;
  return leftMs > 0 && leftMs < Infinity ? texts.before(formatMs(leftMs)) : texts.after;
}

function endOf({ startMs, durationMs }: PhaseSpan): number {
  return startMs + durationMs;
}

/** The step of the termination that failed last. */
function lastFailedStep(spans: readonly PhaseSpan[]): PhaseSpan | undefined {
  const beganAtMs = spans.find(({ phase }) => phase === 'Termination')?.startMs ?? Infinity;
  const failed = spans.filter(
    ({ phase, container, outcome, startMs }) =>
      outcome === 'failed' && startMs >= beganAtMs && (container !== undefined || stepKinds[phase] !== undefined),
  );
  return failed.sort((a, b) => endOf(b) - endOf(a))[0];
}

function kindOf(failed: PhaseSpan | undefined): Obstacle['kind'] {
  if (failed?.container !== undefined) return 'container';
  return (failed && stepKinds[failed.phase]) ?? 'kubelet';
}

const stepKinds: Readonly<Partial<Record<TimelinePhase | ContainerPhase, Obstacle['kind']>>> = {
  SandboxStop: 'sandbox',
  VolumeUnmount: 'volume',
  CleanUp: 'volume',
  CgroupRemoval: 'cgroup',
};

function retried(failed: PhaseSpan | undefined): string {
  const what: Readonly<Record<Obstacle['kind'], string>> = {
    container: 'the kill is retried',
    sandbox: 'StopPodSandbox is retried',
    volume: 'the unmount is retried',
    cgroup: 'the removal of the cgroup is retried',
    api: 'the request is retried',
    kubelet: 'the termination is retried',
  };
  return what[kindOf(failed)];
}

/** The pod's source wants the deletion, but the pod worker still syncs the pod, or the pod has no worker. */
function notBegun({ spans, state }: PodTimeline, sinceMs: number, nowMs: number): ObstacleJson {
  const forMs = Math.max(0, Math.round(nowMs - sinceMs));
  const openSpans = spans.filter(({ phase, outcome }) => outcome === 'open' && phase !== 'Running' && phase !== 'Ready');
  const names = openSpans.map(({ phase, container }) => (container === undefined ? phase : `${phase} (${container})`)).join(', ');
  const waitsFor = `the beginning of its termination${names === '' ? '' : `, after ${names}`}`;
  const next =
    state === 'Refused'
      ? 'only its object is left: it is deleted'
      : 'the kubelet begins the termination with its next update or housekeeping';
  return { kind: 'kubelet', waitsFor, forMs, next };
}

/** The termination goes on, but no step is open: the worker inspects the pod, or its task is on its way. */
function betweenSteps({ spans, finishedAtMs }: PodTimeline, open: readonly PhaseSpan[], nowMs: number): ObstacleJson {
  const sync = open.find(({ phase }) => phase === 'Sync');
  const beganAtMs = spans.find(({ phase }) => phase === 'Termination')?.startMs ?? Infinity;
  const isRetried = spans.some(({ phase, startMs }) => phase === 'Retry' && startMs >= beganAtMs);
  const newestMs = sync?.startMs ?? Math.max(...spans.filter(({ outcome }) => outcome !== 'open').map(endOf), finishedAtMs ?? -Infinity);
  const sinceMs = isRetried ? lastProgressMs(spans, newestMs) : newestMs;
  return {
    kind: 'kubelet',
    waitsFor: sync ? 'a task of the sync pool, between two steps' : 'an inspection of the pod in the runtime',
    forMs: Number.isFinite(sinceMs) ? Math.max(0, Math.round(nowMs - sinceMs)) : 0,
    next: 'the next step of the termination',
  };
}

/** Nothing is left on the node, but the source still has the object. */
function objectRemains({ source, spans, finishedAtMs, deletionWantedAtMs }: PodTimeline, nowMs: number): ObstacleJson[] {
  if (source !== 'api' || finishedAtMs === null) return [];
  const deletion = spans.find(({ phase }) => phase === 'APIDelete');
  const sinceMs = deletion ? endOf(deletion) : finishedAtMs;
  // A pod that completed by itself keeps its object until someone deletes it.
  if (deletionWantedAtMs === null) return [];
  return [
    {
      kind: 'api',
      waitsFor:
        deletion?.outcome === 'ok' ? 'the API server: finalizers of the pod’s object' : 'the API server: the end of the pod’s object',
      forMs: Math.max(0, Math.round(nowMs - sinceMs)),
      next:
        deletion?.outcome === 'ok' ? 'the object goes when its last finalizer is removed' : 'the object is deleted after its final status',
    },
  ];
}
