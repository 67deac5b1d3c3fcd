/** Runs one test file with Node's test runner and parses its counts. */
import { spawn } from 'node:child_process';

export interface FileResult {
  readonly passed: number;
  /** Failed or cancelled. */
  readonly failed: number;
  /** Skipped or todo. */
  readonly skipped: number;
  readonly seconds: number;
  /** The runner's exit code was 0, and at least one test ran. */
  readonly ok: boolean;
  readonly output: string;
}

export interface FileRun {
  readonly file: string;
  /** Returns a command that runs the given command in the file's lane. */
  readonly wrap: (command: string, args: readonly string[]) => [string, string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Of a test, and of a suite with all its tests. The longest makes a cluster with kubeadm, in six minutes on an idle host. */
const testTimeoutMs = 1_140_000;
/** A file is killed after this time, so that the run ends within CI's limit and reports the file. */
const fileTimeoutMs = 1_200_000;
const maxOutputBytes = 4 * 1024 * 1024;

/** Never rejects: a file that can not be started counts as failed. */
export async function runTestFile({ file, wrap, env, signal }: FileRun): Promise<FileResult> {
  const startedMs = performance.now();
  const args = ['--test', '--test-concurrency=1', `--test-timeout=${testTimeoutMs}`, '--test-reporter=spec', file];
  // A separate process group, so that the file's child processes can be killed with it.
  const child = spawn(...wrap(process.execPath, args), { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const appendOutput = (text: string) => (output = (output + text).slice(-maxOutputBytes));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', appendOutput);
  const killGroup = (why: string) => {
    appendOutput(`\n${why}\n`);
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => killGroup(`${file} did not end within ${fileTimeoutMs / 60_000} minutes`), fileTimeoutMs);
  const onAbort = () => killGroup('The run was stopped');
  signal.addEventListener('abort', onAbort);
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (err) => {
      appendOutput(String(err));
      resolve(null);
    });
    child.once('close', resolve);
  });
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  const counts = readCounts(output);
  return { ...counts, seconds: (performance.now() - startedMs) / 1000, ok: code === 0 && counts.passed > 0, output };
}

/** Parses the last lines of the spec reporter, such as `ℹ pass 12`. Returns zeros when there are none. */
export function readCounts(output: string): Pick<FileResult, 'passed' | 'failed' | 'skipped'> {
  const count = (name: string) => Number(output.match(new RegExp(`^ℹ ${name} (\\d+)$`, 'm'))?.[1] ?? 0);
  return { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
}
