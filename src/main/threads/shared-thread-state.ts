/**
 * The memory that all threads share: the heartbeats, and a metrics segment for each thread. Main creates it once, before the first thread starts. The set
 * of threads is fixed here, so that the server thread has every segment whenever it starts.
 */
import type { PodSyncWorkerData } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { ThreadWorkerData } from '../../shared/contracts/thread-worker-data.ts';
import type { LoggingOptions } from '../../shared/log/logger.ts';
import { bindMetrics, createMetricsSegment } from '../../shared/metrics/index.ts';
import { createClaims } from '../../shared/state/claims.ts';
import { createRuntimeCgroupDriver } from '../../shared/cgroups/runtime-cgroup-driver.ts';
import { createHeartbeats, ThreadStatusWriter } from '../../shared/state/heartbeats.ts';
import { monotonicMs } from '../../shared/time/clock.ts';
import type { TracingSettings } from '../../shared/tracing/index.ts';
import { MemoryTrimmer } from './memory-trimmer.ts';
import { HangWatchdog, type HangWatchdogOptions } from './hang-watchdog.ts';
import { startThreadHeartbeat } from '../../shared/thread/enter-thread.ts';
import type { Heartbeat } from '../../shared/state/start-heartbeat.ts';
import { quarantineThreads } from './quarantine-pool.ts';
import { EventLoopDelays } from './event-loop-delays.ts';
import { ThreadPriorities } from './thread-priorities.ts';

const threadNames = ['main', 'pleg', 'images', 'stats', 'probes', 'server', 'health', 'plugins', 'volumes'] as const;
export type ThreadName = (typeof threadNames)[number];

/** The sync loop is unhealthy when its last iteration is older than two sync periods, but not before this age (upstream SyncLoopHealthCheck). */
const minimumSyncLoopAgeMs = 5 * 60_000;
/** The pleg is unhealthy when its last relist is older (upstream relistThreshold). */
const relistThresholdMs = 3 * 60_000;

export interface SharedThreadStateOptions {
  readonly logging: LoggingOptions;
  /** The number of pool threads, without those of the quarantine. There are twice as many slots, because a replacement starts while its predecessor still exits. */
  readonly podSyncThreads: number;
  readonly syncFrequencyMs: number;
  readonly priorities?: ThreadPriorities;
  /** Absent: no spans are sent. */
  readonly tracing?: TracingSettings | null;
  /** For tests: the limits of the watchdog. */
  readonly watchdogLimits?: Pick<HangWatchdogOptions, 'limitMs' | 'periodMs'>;
}

export class SharedThreadState {
  readonly heartbeats: SharedArrayBuffer;
  readonly threadStatuses: ThreadStatusWriter;
  readonly watchdog: HangWatchdog;
  readonly logging: LoggingOptions;
  readonly podSyncThreads: number;
  readonly priorities: ThreadPriorities;
  readonly tracing: TracingSettings | null;
  /** Main stores the runtime's cgroup driver here (shared/cgroups/runtime-cgroup-driver.ts). */
  readonly runtimeCgroupDriver = createRuntimeCgroupDriver();
  readonly #segments = new Map<string, SharedArrayBuffer>();
  readonly #claims: SharedArrayBuffer;

  constructor({
    logging,
    podSyncThreads,
    syncFrequencyMs,
    priorities = new ThreadPriorities(),
    tracing = null,
    watchdogLimits,
  }: SharedThreadStateOptions) {
    const slots = Array.from({ length: (podSyncThreads + quarantineThreads) * 2 }, (_, slot) => `pod-sync-${slot}`);
    const loopLimitsMs: Partial<Record<string, number>> = {
      main: Math.max(2 * syncFrequencyMs, minimumSyncLoopAgeMs),
      pleg: relistThresholdMs,
    };
    this.logging = logging;
    this.podSyncThreads = podSyncThreads;
    this.priorities = priorities;
    this.tracing = tracing;
    this.heartbeats = createHeartbeats(
      [...threadNames, ...slots].map((thread) => ({ thread, loopStaleAfterMs: loopLimitsMs[thread] ?? 0 })),
    );
    this.threadStatuses = new ThreadStatusWriter(this.heartbeats);
    this.watchdog = new HangWatchdog({ heartbeats: this.heartbeats, ...watchdogLimits });
    this.#claims = createClaims(slots.length);
    for (const thread of [...threadNames, ...slots]) this.#segments.set(thread, createMetricsSegment());
  }

  /** Starts main's heartbeat and metrics. */
  enterMain(): Heartbeat {
    const row = this.threadStatuses.rowOf('main');
    this.threadStatuses.started(row, monotonicMs());
    bindMetrics(this.#segments.get('main')!);
    const delays = new EventLoopDelays();
    const freeMemory = new MemoryTrimmer();
    const heartbeat = startThreadHeartbeat({ heartbeats: this.heartbeats, heartbeatRow: row }, 'main', {
      onBeat: () => delays.count(),
      onCollected: () => freeMemory.onCollected(),
    });
    return {
      loop: () => heartbeat.loop(),
      beginWait: (maxMs) => heartbeat.beginWait(maxMs),
      endWait: () => heartbeat.endWait(),
      stop: () => {
        heartbeat.stop();
        delays.stop();
        freeMemory.close();
      },
    };
  }

  /** The worker data of a thread, without what its contract adds. */
  workerData(thread: Exclude<ThreadName, 'main'>): ThreadWorkerData {
    const heartbeatRow = this.threadStatuses.rowOf(thread);
    const { logging, heartbeats } = this;
    // The health thread has no spans.
    const tracing = thread === 'health' ? null : this.tracing;
    return { thread, logging, tracing, nice: this.priorities.normal, heartbeats, heartbeatRow, metrics: this.#segments.get(thread)! };
  }

  /** The worker data of all threads of the sync pool. */
  podSyncWorkerData(settings: PodSyncWorkerData['settings']): PodSyncWorkerData {
    const names = [...this.#segments.keys()].filter((name) => name.startsWith('pod-sync-'));
    return {
      thread: 'pod-sync',
      logging: this.logging,
      tracing: this.tracing,
      nice: this.priorities.normal,
      heartbeats: this.heartbeats,
      metricsSegments: names.map((name) => this.#segments.get(name)!),
      heartbeatRows: names.map((name) => this.threadStatuses.rowOf(name)),
      claims: this.#claims,
      runtimeCgroupDriver: this.runtimeCgroupDriver,
      settings,
    };
  }

  /** The segments of all threads, for the server thread's metrics page. */
  metricsSegments(): SharedArrayBuffer[] {
    return [...this.#segments.values()];
  }
}
