// Loaded into a kubelet under test (NODE_OPTIONS=--import): main's wall clock is ahead of the host's by the ms that clock-ahead-ms in the
// test node's folder says, as on a host whose time is set right while the kubelet runs. Timers and the monotonic clock go on as they are.
import { readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const folder = process.env.TEST_NODE_FOLDER;
if (isMainThread && folder) {
  const file = join(folder, 'clock-ahead-ms');
  let aheadMs = 0;
  const read = () => {
    aheadMs = Number(readFileSync(file, 'utf8'));
  };
  writeFileSync(file, '0', { flag: 'a' });
  watch(file, read).unref();
  read();
  const { now } = Date;
  Date.now = () => now() + aheadMs;
}
