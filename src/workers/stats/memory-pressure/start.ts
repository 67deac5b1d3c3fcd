/** Starts the watcher with the sources that the node and its configuration have. */
import { join } from 'node:path';
import type { MemoryThreshold, StatsWorkerData } from '../../../shared/contracts/stats.ts';
import { cgroupPath, podsCgroup, type CgroupDriver } from '../../../shared/cgroups/cgroup-names.ts';
import { readMachineMemory } from '../read-machine-memory.ts';
import { MemoryPressureWatcher, type MemoryPressureWatcherOptions } from './memory-pressure-watcher.ts';
import { openStallTrigger } from './stall-trigger.ts';
import { UsageNotifier } from './usage-notifier.ts';

export interface StartMemoryPressureWatcherOptions extends Pick<MemoryPressureWatcherOptions, 'onPressure' | 'clock' | 'logger'> {
  /** The thresholds may change. Without a threshold at the start nothing is watched: evictions are checked periodically. */
  readonly thresholds: () => readonly MemoryThreshold[];
  readonly settings: Pick<StatsWorkerData, 'notifiesMemoryUsage' | 'cgroupVersion' | 'cgroupFsRoot' | 'cgroupRoot'>;
  readonly driver: () => CgroupDriver;
}

/** The watcher's poll occupies one thread of libuv's pool, which also serves file accesses. `bin/kubelet` sets UV_THREADPOOL_SIZE to 17. */
const minFileThreads = 8;

/** Undefined when nothing needs to be watched. */
export function startMemoryPressureWatcher({
  thresholds,
  settings,
  driver,
  ...options
}: StartMemoryPressureWatcherOptions): MemoryPressureWatcher | undefined {
  const { notifiesMemoryUsage, cgroupVersion, cgroupFsRoot, cgroupRoot } = settings;
  if (thresholds().length === 0) return undefined;
  const fileThreads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  if (fileThreads < minFileThreads) {
    options.logger.info(
      { fileThreads, needed: minFileThreads },
      'Too few file threads to wait for the kernel’s notifications of memory pressure',
    );
    return undefined;
  }
  const node = join(cgroupFsRoot, 'memory');
  const directories = () => ({ node, pods: join(node, cgroupPath(podsCgroup({ cgroupRoot, cgroupsPerQOS: true }), driver())) });
  const machineMemoryBytes = () => readMachineMemory().memoryBytes;
  // With cgroup v2 the kernel has no thresholds of the usage (v1: cgroup.event_control). Its stalls are watched with both.
  const watchesUsage = notifiesMemoryUsage && cgroupVersion === 1;
  return MemoryPressureWatcher.start({
    ...options,
    openStallTrigger,
    ...(watchesUsage && { usage: new UsageNotifier({ thresholds, directories, machineMemoryBytes, logger: options.logger }) }),
  });
}
