/**
 * The pleg thread: the only one that lists the runtime, and the only writer of the runtime snapshot and of what main knows of each
 * pod. Started by main (main/threads/pleg-thread.ts); it changes nothing in the runtime.
 */
import type { PlegApi, PlegWorkerData } from '../../shared/contracts/pleg.ts';
import { RuntimeSnapshotWriter } from '../../shared/state/runtime-snapshot.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { CriPlegRuntime } from './pleg-runtime.ts';
import { Pleg } from './pleg.ts';
import { readTerminationMessage } from './runtime-status/termination-message.ts';

const { workerData: birth, logger, heartbeat: heart } = enterThread<PlegWorkerData>();
const { runtimeEndpoint, runtimeRequestTimeoutMs, relistPeriodMs, useEventStream, rootDir, podLogsDir, snapshot, events } = birth;

const pleg = new Pleg({
  runtime: new CriPlegRuntime({ endpoint: runtimeEndpoint, requestTimeoutMs: runtimeRequestTimeoutMs, logger }),
  snapshot: new RuntimeSnapshotWriter(snapshot),
  post: (message) => events.postMessage(message),
  relistPeriodMs,
  useEventStream,
  onRelisted: () => heart.loop(),
  readMessage: (source) => readTerminationMessage(source, { rootDir, podLogsDir }),
  clock: systemClock,
  logger,
});

const api: PlegApi = {
  inspectPod: (podUID, created, sequence) => pleg.inspectPod(podUID, created, sequence),
  relist: () => pleg.relist(),
  runtimeStatus: () => pleg.runtimeStatus(),
  close: async () => {
    await pleg.close();
    heart.stop();
    events.close();
  },
};
serveThread(api);
