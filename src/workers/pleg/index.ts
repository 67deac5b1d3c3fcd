/**
 * Entry of the pleg thread, which lists the pods of the runtime for main, and is the only writer of the runtime snapshot and the only source of main's
 * runtime statuses. (The images and stats threads list containers for their own work.) relist/ fetches the lists, records/ compares them with the
 * known state, inspection/ requests single pods' statuses, and runtime-status/ converts them. The thread changes nothing in the runtime. Main starts
 * it (main/threads/pleg-thread.ts).
 */
import type { PlegApi, PlegWorkerData } from '../../shared/contracts/pleg.ts';
import { RuntimeSnapshotWriter } from '../../shared/state/runtime-snapshot.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { postNotification } from '../../shared/thread/ordered-notification.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { CriPlegRuntime } from './pleg-runtime.ts';
import { Pleg } from './pleg.ts';
import { maxBackoffMs } from './relist/relister.ts';
import { readTerminationMessage } from './runtime-status/termination-message.ts';

const { workerData, logger, heartbeat } = enterThread<PlegWorkerData>();
const { runtimeEndpoint, runtimeRequestTimeoutMs, relistPeriodMs, useEventStream, rootDir, podLogsDir, snapshot } = workerData;

/** The longest wait for the runtime: the deadline of a list, that of the portions that replace a list that is too long, and the pause after a failure. */
const maxWaitMs = 2 * runtimeRequestTimeoutMs + maxBackoffMs + relistPeriodMs;

const pleg = new Pleg({
  runtime: new CriPlegRuntime({ endpoint: runtimeEndpoint, requestTimeoutMs: runtimeRequestTimeoutMs, logger }),
  snapshot: new RuntimeSnapshotWriter(snapshot),
  post: postNotification,
  relistPeriodMs,
  useEventStream,
  onListing: () => heartbeat.beginWait(maxWaitMs),
  onListed: () => heartbeat.endWait(),
  onRelisted: () => heartbeat.loop(),
  readMessage: (source) => readTerminationMessage(source, { rootDir, podLogsDir }),
  clock: systemClock,
  logger,
});

const api: PlegApi = {
  inspectPod: (podUID, created) => pleg.inspectPod(podUID, created),
  relist: () => pleg.relist(),
  runtimeInfo: () => pleg.runtimeInfo(),
  close: async () => {
    await pleg.close();
    heartbeat.stop();
  },
};
serveThread(api);
