/**
 * The stats thread reads the machine's information, and samples the usage of each pod and container from the cgroup tree into the usage table. It decides
 * nothing. Started and called by main (main/threads/stats-thread.ts).
 */
import { wrap } from 'comlink';
import { encodeFamilies, toBytes } from '../../shared/metrics/exposition/encode.ts';
import { readFileSync } from 'node:fs';
import type { StatsApi, StatsMainApi, StatsNotification, StatsWorkerData } from '../../shared/contracts/stats.ts';
import type { CgroupDriver } from '../../shared/cgroups/cgroup-names.ts';
import { memoryPressureNotifications } from '../../shared/metrics/definitions/eviction.ts';
import { parseMaxOpenFiles } from '../../shared/linux/procfs.ts';
import { containerLogsDirectory } from '../../shared/kubernetes/paths.ts';
import { runtimeCgroupDriver } from '../../shared/cgroups/runtime-cgroup-driver.ts';
import { endpoint, transferBytes } from '../../shared/thread/endpoint.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { connectToRuntime } from './connect-to-runtime.ts';
import { MachineSampler } from './machine-sampler.ts';
import { NodeSampling } from './node-sampling.ts';
import { PodCgroupWatch } from './pod-cgroup-watch.ts';
import { readMachineInfo } from './machine-info.ts';
import { NodeFilesystems } from './node-filesystems.ts';
import { startMemoryPressureWatcher } from './memory-pressure/start.ts';
import { OomWatcher } from './oom/oom-watcher.ts';
import { readLogUsage } from './read-log-usage.ts';
import { readMachineMemory } from './read-machine-memory.ts';
import { readNetwork } from './read-network.ts';
import { RuntimeContainerStats } from './runtime-stats/container-stats.ts';
import { RuntimeStats } from './runtime-stats/runtime-stats.ts';
import { RootFilesystem } from './root-filesystem.ts';
import { listRuntimeLayers } from './storage/list-runtime-layers.ts';
import { StorageSampler } from './storage/storage-sampler.ts';
import { UsageSampler } from './usage-sampler.ts';

const { workerData, logger, heartbeat } = enterThread<StatsWorkerData>();
const { rootDir, podLogsDir, usage, snapshot, cgroupRoot, cgroupVersion, cgroupFsRoot, housekeepingPeriodMs, systemCgroups } = workerData;
const main = wrap<StatsMainApi>(endpoint(workerData.main));
const stop = new AbortController();
/** Delays the first sample: the start of the kubelet waits for the machine's information, and nothing waits for usage. */
const firstSampleDelayMs = 2000;

/** About ten kept files for each of 2,000 cgroups. */
const maxHandles = 20_000;
function maxOpenFiles(): number {
  return parseMaxOpenFiles(readFileSync('/proc/self/limits', 'utf8'));
}

function currentDriver(): CgroupDriver {
  return runtimeCgroupDriver(workerData.runtimeCgroupDriver) ?? workerData.cgroupDriver;
}

function notify(notification: StatsNotification): void {
  workerData.events.postMessage(notification);
}

const runtimeStats =
  workerData.statsFromRuntime === ''
    ? undefined
    : new RuntimeStats({ runtime: await connectToRuntime(workerData.statsFromRuntime), clock: systemClock, logger });
const containerStats = new RuntimeContainerStats({
  connect: () => connectToRuntime(workerData.runtimeEndpoint),
  clock: systemClock,
  logger,
});

const sampler = new UsageSampler({
  usage,
  snapshot,
  hierarchy: { version: cgroupVersion, root: cgroupFsRoot },
  driver: currentDriver,
  cgroupRoot,
  systemCgroups,
  // The rest of the process' open files is for connections and logs.
  maxHandles: Math.min(maxHandles, Math.floor(maxOpenFiles() / 4)),
  machineMemory: readMachineMemory,
  readNetwork,
  proc: '/proc',
  readLogs: (pod, container) => readLogUsage(containerLogsDirectory(podLogsDir, pod, container)),
  containerStats: (ids) => containerStats.of(ids),
  ...(runtimeStats && { runtimeUsage: (items) => runtimeStats.usage(items) }),
  clock: systemClock,
  logger,
});

const oomWatcher = new OomWatcher({
  onSystemOOM: (event) => notify({ type: 'systemOOM', ...event }),
  onKill: (cgroup) => sampler.countKill(cgroup),
  logger,
});
const podCgroups = workerData.cgroupsPerQOS
  ? new PodCgroupWatch({
      hierarchy: { version: cgroupVersion, root: cgroupFsRoot },
      driver: currentDriver,
      cgroupRoot,
      onAppeared: (podUIDs) => notify({ type: 'podCgroupsAppeared', podUIDs }),
      clock: systemClock,
      logger,
    })
  : undefined;
const storage = new StorageSampler({
  rootDir,
  podLogsDir,
  storage: workerData.storage,
  snapshot,
  volumeStatsPeriodMs: workerData.volumeStatsPeriodMs,
  projectsFile: workerData.projectQuotas ? '/etc/projects' : '',
  processOf: (containerID) => sampler.processOf(containerID),
  askDriver: (volume) => main.volumeStats(volume),
  listRuntimeLayers: () => listRuntimeLayers(workerData.runtimeEndpoint, workerData.runtimeRequestTimeoutMs),
  clock: systemClock,
  logger,
});
const rootFilesystem = new RootFilesystem(rootDir, usage, systemClock);
const nodeFilesystems = new NodeFilesystems(rootDir, (found) => sampler.setNodeFilesystems(found));

const machine = new MachineSampler({ rootDir, hugePageAware: workerData.hugePageAware, sampler, nodeFilesystems, clock: systemClock });
const node = new NodeSampling({
  rootDir,
  periodMs: housekeepingPeriodMs,
  firstSampleDelayMs,
  sampler,
  machine,
  rootFilesystem,
  nodeFilesystems,
  oomWatcher,
  podCgroups,
  runtimeStats,
  heartbeat,
  clock: systemClock,
  logger,
});
const sampling = node.run(stop.signal);
let { memoryThresholds } = workerData;
const pressureWatcher = startMemoryPressureWatcher({
  thresholds: () => memoryThresholds,
  settings: workerData,
  driver: currentDriver,
  onPressure: (source) => {
    memoryPressureNotifications.inc({ source });
    notify({ type: 'memoryPressure', source });
  },
  clock: systemClock,
  logger,
});
const measuringStorage = systemClock.sleep(firstSampleDelayMs, stop.signal).then(
  () => storage.run(stop.signal),
  () => {},
);

const api: StatsApi = {
  machineInfo: () => readMachineInfo({ root: '/', rootDir }),
  sampleNow: () => node.sampleNow(),
  async runtimeMetrics(format) {
    const families = await runtimeStats?.metrics();
    return families && transferBytes(toBytes(encodeFamilies(families, format)));
  },
  async setMemoryThresholds(thresholds) {
    memoryThresholds = thresholds;
  },
  async close() {
    stop.abort();
    await Promise.all([sampling, pressureWatcher?.close(), storage.close()]);
    await measuringStorage;
    sampler.close();
    podCgroups?.close();
    oomWatcher.close();
    workerData.events.close();
    workerData.main.close();
    heartbeat.stop();
  },
};
serveThread(api);
