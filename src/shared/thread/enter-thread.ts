/** How a worker thread begins: its birth, its logger, its metrics, its heartbeat; and how it offers its contract to main. */
import { expose } from 'comlink';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { getHeapStatistics } from 'node:v8';
import type { PodSyncWorkerData, SlotClaimed } from '../contracts/pod-sync/worker-data.ts';
import type { ThreadWorkerData } from '../contracts/thread.ts';
import { createLogger } from '../log/create-logger.ts';
import type { Logger } from '../log/logger.ts';
import { threadEventLoopDelay, threadHeapLimit, threadHeapUsed } from '../metrics/definitions/threads.ts';
import { bindMetrics } from '../metrics/define.ts';
import { startHeartbeat, type Heartbeat } from '../state/start-heartbeat.ts';
import { QuietCollector } from './quiet-collector.ts';
import { claimSlot } from '../state/claims.ts';
import { monotonicMs } from '../time/clock.ts';
import { endpoint } from './endpoint.ts';
import { setNiceOfThisThread } from './nice.ts';

export interface ThreadContext<Birth> {
  readonly workerData: Birth;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
}

/** Once, at the top of a thread's entry. */
export function enterThread<Birth extends ThreadWorkerData>(): ThreadContext<Birth> {
  const birth = workerData as Birth;
  setNiceOfThisThread(birth.nice);
  const logger = createLogger(birth.logging, { component: birth.thread });
  bindMetrics(birth.metrics);
  return { workerData: birth, logger, heartbeat: startThreadHeartbeat(birth, birth.thread) };
}

/** The same for a thread of the sync pool: all of them share one birth, and each claims a place of its own. */
export function enterPoolThread(): ThreadContext<PodSyncWorkerData> & { readonly slot: number } {
  const birth = workerData as PodSyncWorkerData;
  setNiceOfThisThread(birth.nice);
  const slot = claimSlot(birth.claims, threadId);
  parentPort?.postMessage({ claimedSlot: slot, atMs: monotonicMs() } satisfies SlotClaimed);
  const thread = `${birth.thread}-${slot}`;
  const logger = createLogger(birth.logging, { component: birth.thread }).child({ thread });
  bindMetrics(birth.metricsSegments[slot]!);
  return {
    workerData: birth,
    logger,
    slot,
    heartbeat: startThreadHeartbeat({ heartbeats: birth.heartbeats, heartbeatRow: birth.heartbeatRows[slot]! }, thread),
  };
}

/** Answers main's calls. An error crosses with its name and message only: failures that main must read are sent as data. */
export function serveThread(api: object): void {
  if (!parentPort) throw new Error('a thread serves its contract to the thread that started it; this is the main thread');
  expose(api, endpoint(parentPort));
}

/** Beats, and counts what the beat sees of the thread; for main too, which looks closer with each of its beats and its collections. */
export function startThreadHeartbeat(
  row: { readonly heartbeats: SharedArrayBuffer; readonly heartbeatRow: number },
  thread: string,
  { onBeat, onCollected }: { readonly onBeat?: () => void; readonly onCollected?: () => void } = {},
): Heartbeat {
  const collector = new QuietCollector(onCollected);
  return startHeartbeat({
    ...row,
    onBeat: (delaySeconds) => {
      onBeat?.();
      collector.onBeat();
      const heap = getHeapStatistics();
      threadEventLoopDelay.observe(delaySeconds, { thread });
      threadHeapUsed.set(heap.used_heap_size, { thread });
      threadHeapLimit.set(heap.heap_size_limit, { thread });
    },
  });
}
