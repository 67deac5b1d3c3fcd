/**
 * The stats thread: what machine this is, and what every pod uses, sampled from the cgroup tree into the usage table. It decides
 * nothing. Born and called by main (main/threads/stats-thread.ts).
 */
import type { StatsApi, StatsWorkerData } from '../../shared/contracts/stats.ts';
import { runtimeCgroupDriver } from '../../shared/state/runtime-cgroup-driver.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { readMachineInfo } from './machine-info.ts';
import { UsageSampler } from './usage-sampler.ts';

const { workerData: birth, logger, heartbeat: heart } = enterThread<StatsWorkerData>();
const { rootDir, usage, snapshot, cgroupDriver, cgroupRoot, cgroupVersion, cgroupFsRoot, housekeepingPeriodMs } = birth;
const stop = new AbortController();
/** What machine this is, is waited for by the whole kubelet, and so are pods: their usage is not. */
const firstSampleMs = 2000;

const sampler = new UsageSampler({
  usage,
  snapshot,
  hierarchy: { version: cgroupVersion, root: cgroupFsRoot },
  driver: () => runtimeCgroupDriver(birth.runtimeCgroupDriver) ?? cgroupDriver,
  cgroupRoot,
  clock: systemClock,
  logger,
});

async function keepSampling(signal: AbortSignal): Promise<void> {
  let failing = false;
  await systemClock.sleep(Math.min(firstSampleMs, housekeepingPeriodMs), signal).catch(() => {});
  while (!signal.aborted) {
    try {
      const rows = await sampler.sample();
      logger.debug({ rows }, 'sampled the usage of pods');
      failing = false;
    } catch (err) {
      if (!failing) logger.error({ err, retryInMs: housekeepingPeriodMs }, 'the usage of pods could not be sampled');
      failing = true;
    }
    heart.loop();
    await systemClock.sleep(housekeepingPeriodMs, signal).catch(() => {});
  }
}

const sampling = keepSampling(stop.signal);

const api: StatsApi = {
  machineInfo: () => readMachineInfo({ root: '/', rootDir }),
  async close() {
    stop.abort();
    await sampling;
    heart.stop();
  },
};
serveThread(api);
