/** The start of a worker thread: worker data, logger, metrics and heartbeat. Also serves the thread's API to main. */
import { expose } from 'comlink';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { getHeapStatistics } from 'node:v8';
import type { PodSyncWorkerData, SlotClaimed } from '../contracts/pod-sync/worker-data.ts';
import type { ThreadWorkerData } from '../contracts/thread-worker-data.ts';
import { createLogger } from '../log/create-logger.ts';
import type { Logger } from '../log/logger.ts';
import { threadEventLoopDelay, threadExternal, threadHeapLimit, threadHeapUsed } from '../metrics/definitions/threads.ts';
import { bindMetrics } from '../metrics/define.ts';
import { startHeartbeat, type Heartbeat } from '../state/start-heartbeat.ts';
import { IdleCollector } from './idle-collector.ts';
import { claimSlot } from '../state/claims.ts';
import { monotonicMs } from '../time/clock.ts';
import { startTracing } from '../tracing/index.ts';
import { endpoint } from './endpoint.ts';
import { setNiceOfThisThread } from './nice.ts';

export interface ThreadContext<WorkerData> {
  readonly workerData: WorkerData;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
}

/** Call this once, at the top of a thread's entry. */
export function enterThread<WorkerData extends ThreadWorkerData>(): ThreadContext<WorkerData> {
  const data = workerData as WorkerData;
  setNiceOfThisThread(data.nice);
  const logger = createLogger(data.logging, { component: data.thread });
  bindMetrics(data.metrics);
  startTracing(data.tracing, logger);
  return { workerData: data, logger, heartbeat: startThreadHeartbeat(data, data.thread) };
}

/** The same for a thread of the sync pool. All threads of the pool have the same worker data, and each claims a slot in it. */
export function enterPoolThread(): ThreadContext<PodSyncWorkerData> & { readonly slot: number } {
  const data = workerData as PodSyncWorkerData;
  setNiceOfThisThread(data.nice);
  const slot = claimSlot(data.claims, threadId);
  parentPort?.postMessage({ claimedSlot: slot, atMs: monotonicMs() } satisfies SlotClaimed);
  const thread = `${data.thread}-${slot}`;
  const logger = createLogger(data.logging, { component: data.thread }).child({ thread });
  bindMetrics(data.metricsSegments[slot]!);
  startTracing(data.tracing, logger);
  return {
    workerData: data,
    logger,
    slot,
    heartbeat: startThreadHeartbeat({ heartbeats: data.heartbeats, heartbeatRow: data.heartbeatRows[slot]! }, thread),
  };
}

/** Serves main's calls. Only the name and the message of an error reach main, so calls return failures that main must read as results. */
export function serveThread(api: object): void {
  if (!parentPort) throw new Error('serveThread was called on the main thread');
  expose(api, endpoint(parentPort));
}

/**
 * Starts the heartbeat of a thread, which also updates the thread's metrics and collects an idle heap. Main uses the callbacks for its additional
 * measurements.
 */
export function startThreadHeartbeat(
  row: { readonly heartbeats: SharedArrayBuffer; readonly heartbeatRow: number },
  thread: string,
  { onBeat, onCollected }: { readonly onBeat?: () => void; readonly onCollected?: () => void } = {},
): Heartbeat {
  const collector = new IdleCollector(onCollected);
  return startHeartbeat({
    ...row,
    onBeat: (delaySeconds) => {
      onBeat?.();
      collector.onBeat();
      const heap = getHeapStatistics();
      threadEventLoopDelay.observe(delaySeconds, { thread });
      threadHeapUsed.set(heap.used_heap_size, { thread });
      threadExternal.set(heap.external_memory, { thread });
      threadHeapLimit.set(heap.heap_size_limit, { thread });
    },
  });
}
