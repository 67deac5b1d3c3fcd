/** Starts a thread that serves a Comlink contract. Holds what all these threads have in common; each thread's facade adds the rest. */
import type { Remote } from 'comlink';
import { MessagePort, type ResourceLimits } from 'node:worker_threads';
import type { ThreadWorkerData } from '../../shared/contracts/thread-worker-data.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { entryUrl } from './entry-url.ts';
import type { SharedThreadState, ThreadName } from './shared-thread-state.ts';
import { Thread } from './thread.ts';

/** The dependencies of every thread facade. */
export interface ThreadDependencies {
  readonly state: SharedThreadState;
  /** A child logger for the thread's component. */
  readonly logger: Logger;
}

/** The part of a thread's worker data that its contract adds. */
export type OwnWorkerData<WorkerData extends ThreadWorkerData> = Omit<WorkerData, keyof ThreadWorkerData>;

/** The part of a thread's worker data that the composition root provides. The facade adds the ports, new ones at each start. */
export type Settings<WorkerData extends ThreadWorkerData, Added extends keyof WorkerData = never> = Omit<
  WorkerData,
  keyof ThreadWorkerData | Added
>;

export interface StartThreadOptions<WorkerData extends ThreadWorkerData> extends ThreadDependencies {
  readonly name: Exclude<ThreadName, 'main'>;
  readonly resourceLimits: ResourceLimits;
  /** Called at each start and restart. The ports among the values are transferred to the thread. */
  readonly onStart: () => OwnWorkerData<WorkerData>;
  /** See ThreadOptions. */
  readonly onNotification?: (notification: unknown) => void;
  /** Called when the thread has been closed. */
  readonly onClosed?: () => void;
}

interface ClosableApi {
  close(): Promise<void>;
}

export function startThread<Api extends ClosableApi, WorkerData extends ThreadWorkerData>({
  name,
  resourceLimits,
  state,
  logger,
  onStart,
  onNotification,
  onClosed,
}: StartThreadOptions<WorkerData>): Thread<Api> {
  const common = state.workerData(name);
  return new Thread<Api>({
    name,
    entry: entryUrl(name),
    onStart: () => {
      const startData = onStart();
      return {
        workerData: { ...common, ...startData },
        transferList: Object.values(startData).filter((value) => value instanceof MessagePort),
      };
    },
    resourceLimits,
    threadStatuses: state.threadStatuses,
    heartbeatRow: common.heartbeatRow,
    watchdog: state.watchdog,
    logger,
    // TypeScript does not resolve Remote<Api> while Api is a type parameter.
    finish: (api) => (api as unknown as Remote<ClosableApi>).close(),
    ...(onNotification && { onNotification }),
    ...(onClosed && { onClosed }),
  });
}
