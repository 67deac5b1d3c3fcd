/**
 * Starts the threads that the kubelet's start waits for: pleg lists the runtime, stats reads the machine's facts, and the sync pool starts
 * the first pod. Each loads its code for some hundred milliseconds, as main does: these threads start before main has loaded its parts, and
 * load on the other cores.
 */
import { availableParallelism } from 'node:os';
import type { PlegNotification } from '../../shared/contracts/pleg.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { createRuntimeSnapshot } from '../../shared/state/runtime-snapshot.ts';
import { createClaimedVolumesTable } from '../../shared/state/claimed-volumes-table.ts';
import { createStorageTable } from '../../shared/state/storage-table.ts';
import { createUsageTable } from '../../shared/state/usage-table.ts';
import { readCgroupSettings, type CgroupSettings } from '../node/index.ts';
import type { KubeletOptions } from '../config/options.ts';
import { plegSettings, podSyncSettings, statsSettings, tracingSettings } from './thread-settings.ts';
import { Inbox } from '../threads/inbox.ts';
import { PlegThread } from '../threads/pleg-thread.ts';
import { defaultPodSyncThreads, PodSyncPool } from '../threads/pod-sync-pool.ts';
import { StatsThread } from '../threads/stats-thread.ts';
import type { ThreadPriorities } from '../threads/thread-priorities.ts';
import { SharedThreadState } from '../threads/shared-thread-state.ts';

export interface EarlyThreads {
  readonly state: SharedThreadState;
  /** The runtime's pods and containers, which the pleg thread writes. */
  readonly snapshot: SharedArrayBuffer;
  /** The usage table (shared/state/usage-table.ts). */
  readonly usage: SharedArrayBuffer;
  /** The storage table (shared/state/storage-table.ts). */
  readonly storage: SharedArrayBuffer;
  /** The table of claimed volumes (shared/state/claimed-volumes-table.ts). */
  readonly claimedVolumes: SharedArrayBuffer;
  readonly host: CgroupSettings;
  readonly pleg: PlegThread;
  readonly stats: StatsThread;
  readonly pool: PodSyncPool;
  /** Keeps notifications until the sync loop receives them: a few at most, because a relist each second posts one while main loads its parts. */
  readonly plegNotifications: Inbox<PlegNotification>;
}

/** The caller must close the threads, also when the kubelet fails to start. */
export function startEarlyThreads(options: KubeletOptions, logger: Logger, priorities?: ThreadPriorities): EarlyThreads {
  const log = (component: string): Logger => logger.child({ component });
  const { config } = options;
  const state = new SharedThreadState({
    logging: options.logging,
    podSyncThreads: defaultPodSyncThreads(availableParallelism()),
    syncFrequencyMs: config.syncFrequency,
    ...(priorities && { priorities }),
    tracing: tracingSettings(options),
  });
  const snapshot = createRuntimeSnapshot(config.maxPods);
  const usage = createUsageTable(config.maxPods);
  const storage = createStorageTable(config.maxPods);
  const host = readCgroupSettings(config.cgroupDriver);
  const plegNotifications = new Inbox<PlegNotification>();
  const pleg = PlegThread.start({
    state,
    logger: log('pleg'),
    settings: plegSettings(options, snapshot),
    onMessage: (notification) => plegNotifications.post(notification),
  });
  const stats = StatsThread.start({ state, logger: log('stats'), settings: statsSettings(options, host, { snapshot, usage, storage }) });
  const pool = PodSyncPool.start({ state, logger: log('pod-sync'), settings: podSyncSettings(options, host) });
  const claimedVolumes = createClaimedVolumesTable(config.maxPods);
  return { state, snapshot, usage, storage, claimedVolumes, host, pleg, stats, pool, plegNotifications };
}
