/** The budget of each phase of a pod's timeline: when the phase takes longer, an event is recorded. Pure. */
import type { ContainerPhase, TimelinePhase } from '../../shared/contracts/timeline.ts';
import { formatMs } from '../../shared/timeline/format-duration.ts';
import { computeLedger } from '../../shared/timeline/ledger.ts';
import type { PhaseSpan, PodTimeline } from '../../shared/timeline/pod-timeline.ts';

/** The API server and the termination may need this much longer than the grace period (upstream warns in its tests from 10 s on). */
const terminationExtraMs = 10_000;

/**
 * Phases without a budget depend on the pod itself (PostStart, Startup, Readiness, PreStop, Stop), or are covered by another phase. The deadline of
 * Volumes is upstream's podAttachAndMountTimeout, rounded; of Image containerd's image_pull_progress_timeout. The others are a multiple of what a
 * healthy node needs: the SLO for a whole pod start without pulls is 5 s.
 */
const budgetsMs: Readonly<Partial<Record<TimelinePhase | ContainerPhase, number>>> = {
  Admission: 30_000,
  Queue: 60_000,
  Volumes: 120_000,
  Sandbox: 30_000,
  StatusWrite: 60_000,
  APIDelete: 60_000,
  Image: 300_000,
  Create: 60_000,
  Start: 30_000,
};

/** Returns Infinity for a phase without a budget. */
export function budgetMs(phase: TimelinePhase | ContainerPhase, graceSeconds: number): number {
  return phase === 'Termination' ? graceSeconds * 1000 + terminationExtraMs : (budgetsMs[phase] ?? Infinity);
}

/** Returns the monotonic ms at which the first open span without an event exceeds its budget; Infinity when there is none. */
export function nextDeadlineMs(timeline: Pick<PodTimeline, 'spans' | 'graceSeconds'>, isReported: (span: PhaseSpan) => boolean): number {
  const open = timeline.spans.filter((span) => span.outcome === 'open' && !isReported(span));
  return Math.min(Infinity, ...open.map(({ phase, startMs }) => startMs + budgetMs(phase, timeline.graceSeconds)));
}

/** The open spans beyond their budget. */
export function slowSpans(timeline: Pick<PodTimeline, 'spans' | 'graceSeconds'>, nowMs: number): PhaseSpan[] {
  return timeline.spans.filter(
    ({ phase, outcome, startMs }) => outcome === 'open' && nowMs - startMs >= budgetMs(phase, timeline.graceSeconds),
  );
}

/** The message of the event. Names the phase and what it waits for. */
export function slowMessage(span: PhaseSpan, timeline: PodTimeline, nowMs: number): string {
  const { phase, container, startMs, wait, waitingSinceMs } = span;
  const name = container === undefined ? phase : `${phase} of container ${container}`;
  const length = `${name} takes longer than ${formatMs(budgetMs(phase, timeline.graceSeconds))}: ${formatMs(nowMs - startMs)} so far`;
  return `${length}; ${waitText(timeline, phase, waitingSinceMs === null ? null : wait, nowMs)}`;
}

const maxObstacles = 3;

function waitText(timeline: PodTimeline, phase: PhaseSpan['phase'], wait: string | null, nowMs: number): string {
  if (phase === 'Termination') {
    const obstacles = computeLedger(timeline, nowMs);
    const texts = obstacles.slice(0, maxObstacles).map(({ waitsFor, forMs, next }) => `${waitsFor} (since ${formatMs(forMs)}; ${next})`);
    const more = obstacles.length > maxObstacles ? `, and ${obstacles.length - maxObstacles} more` : '';
    return `waits for ${texts.join(', ')}${more}`;
  }
  if (wait !== null) return `waits for: ${wait}`;
  return timeline.problem === '' ? `waits for: ${waitsFor[phase] ?? 'its end'}` : `last problem: ${timeline.problem}`;
}

/** What a phase without a recorded wait waits for. */
const waitsFor: Readonly<Partial<Record<TimelinePhase | ContainerPhase, string>>> = {
  Volumes: 'the mount of a volume',
  Sandbox: 'RunPodSandbox of the runtime',
  StatusWrite: 'the API server',
  APIDelete: 'the API server',
  Image: 'the pull of the image',
  Create: 'CreateContainer of the runtime',
  Start: 'StartContainer of the runtime',
};
