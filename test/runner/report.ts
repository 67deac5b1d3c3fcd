/** The last lines of a run of tests. Pure. */
import type { CpuTimes } from './host-load.ts';
import type { Duration, Durations } from './durations.ts';
import type { TestRunResult } from './run-tests.ts';

export interface RunCost {
  readonly before: CpuTimes;
  readonly after: CpuTimes;
  readonly cpus: number;
}

const mostExpensive = 10;
/** A job is named when it took this much more CPU time than what is committed for it. */
const moreCpu = { factor: 1.5, seconds: 5 };

export function reportLines({ results, builds, flaky, problems }: TestRunResult, committed: Durations, cost: RunCost): string[] {
  const jobs = [...results];
  const expensive = jobs.toSorted(([, a], [, b]) => (b.cpuSeconds ?? b.seconds) - (a.cpuSeconds ?? a.seconds)).slice(0, mostExpensive);
  const dearer = jobs.filter(([{ name }, { ok, cpuSeconds }]) => ok && cpuSeconds !== undefined && isDearer(cpuSeconds, committed[name]));
  const buildCpu = [...builds.values()].reduce((sum, { cpuSeconds = 0 }) => sum + cpuSeconds, 0);
  const busySeconds = cost.after.busySeconds - cost.before.busySeconds;
  const wallSeconds = cost.after.atSeconds - cost.before.atSeconds;
  const sum = (count: 'passed' | 'failed' | 'skipped') => jobs.reduce((total, [, result]) => total + result[count], 0);
  return [
    'the most expensive jobs:',
    ...expensive.map(([{ name }, { seconds, cpuSeconds }]) => `  ${name}: ${Math.round(seconds)} s, ${Math.round(cpuSeconds ?? 0)} CPU-s`),
    ...dearer.map(
      ([{ name }, { cpuSeconds = 0 }]) => `  ${name} took ${Math.round(cpuSeconds)} CPU-s, ${committed[name]!.cpu} are committed`,
    ),
    ...flaky.map(({ file, name }) => `! ${file ?? name} is flaky: it failed beside others and passed at the second attempt`),
    ...problems.map((problem) => `✖ ${problem}`),
    ...jobs.filter(([, { ok }]) => !ok).map(([{ file, name }]) => `✖ ${file ?? name}`),
    `wall ${minutes(wallSeconds)} min, ${Math.round((100 * busySeconds) / (wallSeconds * cost.cpus))} % of ${cost.cpus} CPUs busy, ` +
      `${minutes(busySeconds)} CPU-minutes, of which builds ${minutes(buildCpu)}; ${flaky.length} flaky files`,
    `${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`,
  ];
}

function isDearer(cpuSeconds: number, committed: Duration | undefined): boolean {
  return committed !== undefined && cpuSeconds > committed.cpu * moreCpu.factor + moreCpu.seconds;
}

function minutes(seconds: number): string {
  return (seconds / 60).toFixed(1);
}

/** True when every job passed, at the first or second attempt, and there was one. */
export function hasPassed({ results, problems }: TestRunResult): boolean {
  return problems.length === 0 && results.size > 0 && [...results.values()].every(({ ok }) => ok);
}
