/**
 * Decides which job a free lane runs next. Pure.
 *
 * - Long jobs start first, so that no lane ends with a long job while the others are idle.
 * - The first lane runs checks, unit and integration tests before others: when one of them fails, the run ends early.
 * - A job that counts as two lanes starts as soon as it is the longest one: a lane waits for the second.
 * - While a job that runs alone is ready or runs, no end-to-end file starts.
 */
import type { Need, Part, TestJob } from './jobs.ts';

export interface QueueState {
  readonly waiting: readonly TestJob[];
  readonly running: readonly TestJob[];
  readonly built: ReadonlySet<Need>;
  /** Of the free lane; the first is 0. */
  readonly lane: number;
  /** How many lanes may be busy. */
  readonly lanes: number;
}

const earlyParts: readonly Part[] = ['check', 'unit', 'integration'];

/** Returns undefined when the lane has to wait. */
export function chooseJob({ waiting, running, built, lane, lanes }: QueueState): TestJob | undefined {
  const used = running.reduce((sum, job) => sum + weightOf(job, lanes), 0);
  if (used >= lanes) return undefined;
  const ready = waiting.filter(({ needs }) => needs.every((need) => built.has(need)));
  const isAloneNext = [...ready, ...running].some(({ alone }) => alone);
  const isE2eRunning = running.some(({ part }) => part === 'e2e');
  const [next] = ready
    .filter(({ part, alone }) => part !== 'e2e' || (alone ? !isE2eRunning : !isAloneNext))
    .toSorted((a, b) => rank(a, lane) - rank(b, lane) || b.seconds - a.seconds || (a.name < b.name ? -1 : 1));
  return next !== undefined && used + weightOf(next, lanes) <= lanes ? next : undefined;
}

/** True when a lane is idle only because what is left needs builds. */
export function isWaitingForBuilds({ waiting, running, built, lanes }: Omit<QueueState, 'lane'>): boolean {
  const used = running.reduce((sum, job) => sum + weightOf(job, lanes), 0);
  return used < lanes && waiting.length > 0 && waiting.every(({ needs }) => needs.some((need) => !built.has(need)));
}

function weightOf({ weight }: TestJob, lanes: number): number {
  return Math.min(weight, lanes);
}

function rank({ part, alone }: TestJob, lane: number): number {
  const early = lane === 0 ? earlyParts.indexOf(part) : -1;
  if (early >= 0) return early;
  return earlyParts.length + (alone ? 0 : 1);
}
