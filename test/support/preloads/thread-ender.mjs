// Preloaded into a kubelet under test (NODE_OPTIONS=--import). A worker thread removes the file end-<thread name> when a test creates it in the
// test node's folder, and throws an uncaught error.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, threadName } from 'node:worker_threads';

const folder = process.env.TEST_NODE_FOLDER;
if (!isMainThread && folder) {
  const file = join(folder, `end-${threadName}`);
  setInterval(() => {
    if (!existsSync(file)) return;
    rmSync(file);
    throw new Error('the test ends this thread');
  }, 50).unref();
}
