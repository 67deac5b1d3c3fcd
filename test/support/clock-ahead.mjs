// Loaded into a kubelet under test (NODE_OPTIONS=--import): its wall clock is ahead of the host's by CLOCK_AHEAD_MS, as on a host whose
// time is wrong. Main's moves when a test writes other ms into clock-ahead-ms in the test node's folder, as when the time is set right.
// Timers and the monotonic clock go on as they are.
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const { now } = Date;
Date.now = () => now() + aheadMs;

const folder = process.env.TEST_NODE_FOLDER;
if (isMainThread && folder) {
  const file = join(folder, 'clock-ahead-ms');
  // A file that is being written is empty for a moment.
  const read = () => (aheadMs = Number(readFileSync(file, 'utf8')) || aheadMs);
  if (!existsSync(file)) writeFileSync(file, String(aheadMs));
  read();
  watch(file, read).unref();
}
