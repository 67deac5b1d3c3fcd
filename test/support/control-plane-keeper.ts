/**
 * Keeps the control plane that all end-to-end test files of one run share: started when the first of them asks, ended when the run has
 * ended, however it did. A process of its own, since each file's process comes and goes.
 *
 *   node control-plane-keeper.ts FOLDER OWNER_PID
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlane } from '../../scripts/host/control-plane.ts';
import { outcomeFile, processStartTime } from './control-plane-run.ts';

const [folder = '', owner = ''] = process.argv.slice(2);
const ownerPid = Number(owner);
const ownerStarted = processStartTime(ownerPid);

/** Written whole, by a rename. */
function tell(outcome: { readonly error?: string }): void {
  const part = join(folder, 'outcome.part');
  writeFileSync(part, JSON.stringify(outcome));
  renameSync(part, outcomeFile(folder));
}

const told = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => told.abort());

function ownerLives(): boolean {
  return ownerStarted !== undefined && processStartTime(ownerPid) === ownerStarted;
}

async function untilOwnerEnds(): Promise<void> {
  while (ownerLives() && !told.signal.aborted) {
    await sleep(200, undefined, { signal: told.signal }).catch(() => {});
  }
}

try {
  const controlPlane = await ControlPlane.start({ folder, progress: (what) => console.log(what) });
  tell({});
  await untilOwnerEnds();
  await controlPlane.stop();
} catch (err) {
  tell({ error: err instanceof Error ? err.message : String(err) });
  await untilOwnerEnds();
}
rmSync(folder, { recursive: true, force: true });
