// Preloaded into a kubelet under test (NODE_OPTIONS=--import). Writes the main thread's event-loop delay in milliseconds to loop-delay.json in
// the test node's folder, twice a second and atomically. The histogram contains the time between two samples; their interval of 5 ms is
// subtracted.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const folder = process.env.TEST_NODE_FOLDER;
const resolutionMs = 5;
if (isMainThread && folder) {
  const file = join(folder, 'loop-delay.json');
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  const toDelayMs = (ns) => Math.max(0, Math.round(ns / 1e5) / 10 - resolutionMs);
  const write = () => {
    // A test requests a reset after the start, whose delays it does not measure.
    if (existsSync(`${file}.reset`)) {
      delays.reset();
      rmSync(`${file}.reset`);
    }
    writeFileSync(
      `${file}.new`,
      JSON.stringify({
        p50: toDelayMs(delays.percentile(50)),
        p99: toDelayMs(delays.percentile(99)),
        max: toDelayMs(delays.max),
        samples: delays.count,
      }),
    );
    renameSync(`${file}.new`, file);
  };
  setInterval(write, 500).unref();
}
