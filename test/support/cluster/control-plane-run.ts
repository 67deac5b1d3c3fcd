/** Shares one control plane in a run of tests. The first test file starts it in a separate process (control-plane-keeper.ts). */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { leaveAccount } from '../../runner/cpu-account.ts';

/** Includes a first build on a slow machine. With existing programs a start takes 5 s. */
const startDeadlineMs = 45 * 60_000;

/** Resolves when the control plane is ready. */
export async function findOrStartControlPlane(): Promise<ControlPlaneAccess> {
  const { owner, lane } = runOf(process.env);
  const folder = join(tmpdir(), `kubelet-control-plane-${owner}-${processStartTime(owner)}${lane}`);
  if (isFirst(folder)) startKeeper(folder, owner);
  await waitUntilReady(folder);
  return ControlPlaneAccess.open(folder);
}

/**
 * Returns the process whose end ends the control plane, and a suffix that distinguishes its lanes. test/runner/lane.ts sets both. Otherwise the
 * owner is Node's test runner, or the test file itself when it is run directly.
 */
function runOf({ KUBELET_TEST_RUN: run, KUBELET_TEST_LANE: lane, NODE_TEST_CONTEXT: context }: NodeJS.ProcessEnv) {
  if (run !== undefined) return { owner: Number(run), lane: `-${lane}` };
  return { owner: context === undefined ? process.pid : process.ppid, lane: '' };
}

/** Returns true for the first caller, because a folder can be created only once. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

function startKeeper(folder: string, owner: number): void {
  const log = openSync(join(folder, 'keeper.log'), 'a');
  // Detached, so that Ctrl-C does not end the process before the runner has ended. NODE_TEST_CONTEXT is removed, because it is not a test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'control-plane-keeper.ts'), folder, String(owner)], {
    detached: true,
    stdio: ['ignore', log, log],
    env,
  });
  closeSync(log);
  keeper.unref();
  if (keeper.pid !== undefined) leaveAccount(owner, keeper.pid);
  writeFileSync(join(folder, 'keeper.pid'), String(keeper.pid));
}

async function waitUntilReady(folder: string): Promise<void> {
  const endMs = performance.now() + startDeadlineMs;
  let keeper: { readonly pid: number; readonly started: string | undefined } | undefined;
  while (performance.now() < endMs) {
    const outcome = tryRead(outcomeFile(folder));
    if (outcome !== undefined) {
      const { error } = JSON.parse(outcome) as { error?: string };
      if (error === undefined) return;
      throw new Error(`the control plane of this run did not start: ${error}`);
    }
    const pid = tryRead(join(folder, 'keeper.pid'));
    if (pid && keeper === undefined) keeper = { pid: Number(pid), started: processStartTime(Number(pid)) };
    if (keeper && (keeper.started === undefined || processStartTime(keeper.pid) !== keeper.started)) {
      throw new Error(
        `the keeper of the control plane has ended: ${tryRead(join(folder, 'keeper.log')) ?? `its folder ${folder} is gone`}`,
      );
    }
    await sleep(50);
  }
  throw new Error(`the control plane of this run is not ready after ${startDeadlineMs / 60_000} min; see ${folder}`);
}

/** Written when the control plane is ready or has failed. */
export function outcomeFile(folder: string): string {
  return join(folder, 'outcome.json');
}

/** Returns the start time of a process, which identifies it together with the pid. Undefined when it does not run or is a zombie. */
export function processStartTime(pid: number): string | undefined {
  // After the name in parentheses, which may have spaces, the state is the first field and the start time the twentieth.
  const fields = tryRead(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
