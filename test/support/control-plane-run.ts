/** One control plane for a whole run of tests: found or started by whichever test file asks first (control-plane-keeper.ts keeps it). */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlaneAccess } from '../../scripts/host/control-plane-access.ts';

/** A first build on a slow machine; with the programs there it takes 5 s. */
const startDeadlineMs = 45 * 60_000;

/** Resolves when it is ready. */
export async function findOrStartControlPlane(): Promise<ControlPlaneAccess> {
  const { owner, lane } = runOf(process.env);
  const folder = join(tmpdir(), `kubelet-control-plane-${owner}-${processStartTime(owner)}${lane}`);
  if (isFirst(folder)) startKeeper(folder, owner);
  await untilReady(folder);
  return ControlPlaneAccess.open(folder);
}

/**
 * The process whose end ends the control plane, and what tells its lanes apart. scripts/e2e/run.ts says both. Otherwise node's runner gives
 * each file a process, and a file that is run by hand is its own runner.
 */
function runOf({ KUBELET_TEST_RUN: run, KUBELET_TEST_LANE: lane, NODE_TEST_CONTEXT: context }: NodeJS.ProcessEnv) {
  if (run !== undefined) return { owner: Number(run), lane: `-${lane}` };
  return { owner: context === undefined ? process.pid : process.ppid, lane: '' };
}

/** Making a folder succeeds once. */
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
  // A session of its own: Ctrl-C reaches it by way of the runner's end. Not a test, so not in the runner's context.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'control-plane-keeper.ts'), folder, String(owner)], {
    detached: true,
    stdio: ['ignore', log, log],
    env,
  });
  closeSync(log);
  keeper.unref();
  writeFileSync(join(folder, 'keeper.pid'), String(keeper.pid));
}

async function untilReady(folder: string): Promise<void> {
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

/** Told when it is ready, or has failed. */
export function outcomeFile(folder: string): string {
  return join(folder, 'outcome.json');
}

/** A pid is used again; with this it is one process. Undefined when there is none, or it has ended and is not waited for yet. */
export function processStartTime(pid: number): string | undefined {
  // After the name in parentheses, which may have spaces: state is the first field, the start time the twentieth.
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
