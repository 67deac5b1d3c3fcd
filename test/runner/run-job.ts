/** Runs one job: a test file with Node's test runner, or a part that is one command. Parses the counts. */
import { join } from 'node:path';
import { runCommand, type CommandResult } from './command.ts';
import type { TestJob } from './jobs.ts';
import type { Lane } from './lane.ts';

export interface JobResult extends CommandResult {
  readonly passed: number;
  /** Failed or cancelled. */
  readonly failed: number;
  /** Skipped or todo. */
  readonly skipped: number;
  /** The exit code was 0, a test ran unless the job is a check, and none was skipped. */
  readonly ok: boolean;
}

const project = join(import.meta.dirname, '../..');

/** A job is killed after three times its expected duration and this. */
const allowanceMs = 60_000;
/** A test is cancelled this long before its file is killed, so that the output names the test. */
const reportMs = 5000;

export function limitMsOf({ seconds }: Pick<TestJob, 'seconds'>): number {
  return 3000 * seconds + allowanceMs;
}

/** Never rejects: a job that cannot be started counts as failed. */
export async function runJob(job: TestJob, lane: Lane, signal: AbortSignal): Promise<JobResult> {
  const limitMs = limitMsOf(job);
  const [command, args] = lane.wrap(job.part, ...commandOf(job, limitMs));
  const env = { ...lane.env, NODE_COMPILE_CACHE: join(project, '.cache/node') };
  const result = await runCommand({ name: job.name, command, args, env, limitMs, signal });
  const counts = readCounts(result.output);
  return { ...result, ...counts, ok: result.code === 0 && (job.part === 'check' || counts.passed > 0) && counts.skipped === 0 };
}

function commandOf({ part, file }: TestJob, limitMs: number): [string, string[]] {
  if (part === 'check') return ['sh', ['scripts/check.sh']];
  if (part === 'unit') return ['sh', ['scripts/test-unit.sh', '--test-reporter=spec']];
  const args = ['--test', '--test-concurrency=1', `--test-timeout=${limitMs - reportMs}`, '--test-reporter=spec', file ?? ''];
  return [process.execPath, args];
}

/** Adds up the last lines of the spec reporter, such as `ℹ pass 12`, of each process. Returns zeros when there are none. */
export function readCounts(output: string): Pick<JobResult, 'passed' | 'failed' | 'skipped'> {
  const count = (name: string) =>
    [...output.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, 'gm'))].reduce((sum, [, digits]) => sum + Number(digits), 0);
  return { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
}
