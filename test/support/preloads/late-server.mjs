// Preloaded into a kubelet under test (NODE_OPTIONS=--import). The server thread starts three seconds late.
import { isMainThread, threadName } from 'node:worker_threads';

if (!isMainThread && threadName === 'server') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
