// Preloaded into a kubelet under test (NODE_OPTIONS=--import). Sets the wall clock of each thread ahead of the host's by CLOCK_AHEAD_MS. The main
// thread's clock also changes when a test writes other milliseconds into the file clock-ahead-ms in the test node's folder. Timers and the
// monotonic clock are not affected.
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const { now } = Date;
Date.now = () => now() + aheadMs;

const folder = process.env.TEST_NODE_FOLDER;
if (isMainThread && folder) {
  const file = join(folder, 'clock-ahead-ms');
  // The file is empty for a moment while it is written.
  const read = () => (aheadMs = Number(readFileSync(file, 'utf8')) || aheadMs);
  if (!existsSync(file)) writeFileSync(file, String(aheadMs));
  read();
  watch(file, read).unref();
}
