// Loaded into a kubelet under test (NODE_OPTIONS=--import): writes twice a second how long main's event loop let others wait, in ms, to
// loop-delay.json in the test node's folder, whole at every moment. The histogram counts the time between two looks, 5 ms apart, which is taken
// off.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const folder = process.env.TEST_NODE_FOLDER;
const resolution = 5;
if (isMainThread && folder) {
  const file = join(folder, 'loop-delay.json');
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  const ms = (ns) => Math.max(0, Math.round(ns / 1e5) / 10 - resolution);
  const write = () => {
    // From now on: what came before, the start above all, is not asked for.
    if (existsSync(`${file}.reset`)) {
      delays.reset();
      rmSync(`${file}.reset`);
    }
    writeFileSync(
      `${file}.new`,
      JSON.stringify({ p50: ms(delays.percentile(50)), p99: ms(delays.percentile(99)), max: ms(delays.max), looks: delays.count }),
    );
    renameSync(`${file}.new`, file);
  };
  setInterval(write, 500).unref();
}
