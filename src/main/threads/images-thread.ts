/** Main's half of the images thread. */
import type {
  ContainerGcRequest,
  EnsureImageRequest,
  EnsureImageResult,
  ImageFacts,
  ImagesApi,
  ImagesWorkerData,
} from '../../shared/contracts/images.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { entryUrl } from './entry-url.ts';
import { EventChannel } from './event-channel.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface ImagesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ImagesWorkerData, 'events'>;
  readonly onEvent: (event: RecordedEvent) => void;
}

const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };
/** A collection removes hundreds of containers one by one, each within the runtime's own deadline. */
const collectDeadlineMs = 10 * 60_000;

export class ImagesThread {
  readonly thread: Thread<ImagesApi>;
  readonly #events: EventChannel<RecordedEvent>;

  private constructor(thread: Thread<ImagesApi>, events: EventChannel<RecordedEvent>) {
    this.thread = thread;
    this.#events = events;
  }

  static start({ state, logger, settings, onEvent }: ImagesThreadOptions): ImagesThread {
    const events = new EventChannel(onEvent, logger);
    const common = state.workerData('images');
    return new ImagesThread(
      new Thread<ImagesApi>({
        name: 'images',
        entry: entryUrl('images'),
        onStart: () => {
          const port = events.open();
          return { workerData: { ...common, ...settings, events: port } satisfies ImagesWorkerData, transferList: [port] };
        },
        resourceLimits,
        threadStatuses: state.threadStatuses,
        heartbeatRow: common.heartbeatRow,
        watchdog: state.watchdog,
        logger,
        finish: (api) => api.close(),
      }),
      events,
    );
  }

  /**
   * Waits as long as the pull does: the thread bounds that itself. A request that is lost with its thread is made again: the runtime
   * goes on with the pull, or starts it anew.
   */
  ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult> {
    return this.thread.call(async (api) => await api.ensureImage(request), { deadlineMs: null, retry: true });
  }
  listImages(): Promise<readonly ImageFacts[]> {
    return this.thread.call((api) => api.listImages(), { retry: true });
  }
  collectContainers(request: ContainerGcRequest): Promise<{ readonly removedContainers: number; readonly removedSandboxes: number }> {
    return this.thread.call((api) => api.collectContainers(request), { deadlineMs: collectDeadlineMs });
  }
  removeContainers(ids: readonly ContainerID[]): Promise<void> {
    return this.thread.call((api) => api.removeContainers(ids), { deadlineMs: collectDeadlineMs, retry: true });
  }
  async close(): Promise<void> {
    await this.thread.close();
    this.#events.close();
  }
}
