/**
 * Runs the control plane that all end-to-end test files of a run share. The first test file starts this process, which ends when the run has
 * ended. A separate process is needed, because each test file has its own process.
 *
 *   node control-plane-keeper.ts FOLDER OWNER_PID
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import { alphaGateFlags } from './alpha-gates.ts';
import { outcomeFile, processStartTime } from './control-plane-run.ts';

const [folder = '', owner = ''] = process.argv.slice(2);
const ownerPid = Number(owner);
const ownerStarted = processStartTime(ownerPid);

/** Writes the outcome atomically. */
function writeOutcome(outcome: { readonly error?: string }): void {
  const part = join(folder, 'outcome.part');
  writeFileSync(part, JSON.stringify(outcome));
  renameSync(part, outcomeFile(folder));
}

const stopped = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());

function isOwnerRunning(): boolean {
  return ownerStarted !== undefined && processStartTime(ownerPid) === ownerStarted;
}

async function waitForOwnerExit(): Promise<void> {
  while (isOwnerRunning() && !stopped.signal.aborted) {
    await sleep(200, undefined, { signal: stopped.signal }).catch(() => {});
  }
}

try {
  const controlPlane = await ControlPlane.start({ folder, apiServerFlags: alphaGateFlags, progress: (what) => console.log(what) });
  writeOutcome({});
  await waitForOwnerExit();
  await controlPlane.stop();
} catch (err) {
  writeOutcome({ error: err instanceof Error ? err.message : String(err) });
  await waitForOwnerExit();
}
rmSync(folder, { recursive: true, force: true });
