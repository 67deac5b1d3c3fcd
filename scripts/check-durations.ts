/**
 * Checks test/durations.json: each test file has a committed wall and CPU time, and the sums are within the budget of `npm test`. A file above the
 * limits of one file needs a reason in test/slow-files.json, of which there may be no more than today.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commitMeasured, readDurations, type Durations } from '../test/runner/durations.ts';
import { jobName } from '../test/runner/jobs.ts';

/** Of one file, without a reason. */
const fileLimit = { wall: 120, cpu: 90 };
/** Of all jobs together: CPU minutes, and minutes of lanes, of which three or four run at the same time. */
const budget = { cpuMinutes: 54, laneMinutes: 108 };
/** The number of reasons may not grow. */
const maxReasons = 10;

export interface DurationsInput {
  /** Names of all jobs. */
  readonly names: readonly string[];
  readonly durations: Durations;
  /** By name of the file. */
  readonly reasons: Readonly<Record<string, string>>;
}

export function findDurationProblems({ names, durations, reasons }: DurationsInput): string[] {
  const known = names.filter((name) => durations[name] !== undefined);
  const sum = (what: 'wall' | 'cpu') => known.reduce((total, name) => total + durations[name]![what], 0) / 60;
  const isSlow = (name: string) => durations[name]!.wall > fileLimit.wall || durations[name]!.cpu > fileLimit.cpu;
  return [
    ...names
      .filter((name, index) => names.indexOf(name) !== index)
      .map((name) => `two test files are named ${name}: durations are kept by name`),
    ...names
      .filter((name) => durations[name] === undefined)
      .map((name) => `${name} has no duration: run it with npm test, then npm run test:durations`),
    ...Object.keys(durations)
      .filter((name) => !names.includes(name))
      .map((name) => `${name} has a duration and is no test: npm run test:durations removes it`),
    ...known
      .filter((name) => isSlow(name) && !reasons[name])
      .map((name) => {
        const { wall, cpu } = durations[name]!;
        return `${name} takes ${wall} s and ${cpu} CPU-s: more than ${fileLimit.wall} s or ${fileLimit.cpu} CPU-s needs a reason in test/slow-files.json`;
      }),
    ...Object.keys(reasons)
      .filter((name) => !known.includes(name) || !isSlow(name))
      .map((name) => `${name} needs no reason in test/slow-files.json: remove it`),
    ...(Object.keys(reasons).length > maxReasons
      ? [`test/slow-files.json has ${Object.keys(reasons).length} files: at most ${maxReasons} may be slow`]
      : []),
    ...(sum('cpu') > budget.cpuMinutes ? [`all tests take ${sum('cpu').toFixed(1)} CPU-minutes: the budget is ${budget.cpuMinutes}`] : []),
    ...(sum('wall') > budget.laneMinutes
      ? [`all tests take ${sum('wall').toFixed(1)} minutes of lanes: the budget is ${budget.laneMinutes}`]
      : []),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const names = ['check', 'unit', ...globSync('test/{integration,e2e,guest}/**/*.test.ts', { cwd: root }).map(jobName)];
  if (process.argv[2] === '--commit') commitMeasured(names);
  const reasons = JSON.parse(readFileSync(join(root, 'test/slow-files.json'), 'utf8')) as Record<string, string>;
  const problems = findDurationProblems({ names, durations: readDurations(), reasons });
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
