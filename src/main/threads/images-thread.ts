/** Main's half of the images thread. */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type {
  ContainerGcReply,
  ContainerGcRequest,
  EnsureImageRequest,
  EnsureImageResult,
  RuntimeImage,
  ImagesApi,
  ImagesWorkerData,
} from '../../shared/contracts/images.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { EventChannel } from './event-channel.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface ImagesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ImagesWorkerData, 'events'>;
  readonly onEvent: (event: RecordedEvent) => void;
}

const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };
/** A collection removes hundreds of containers one by one, each within the runtime's own deadline. */
const collectDeadlineMs = 10 * 60_000;

export class ImagesThread {
  readonly thread: Thread<ImagesApi>;

  private constructor(thread: Thread<ImagesApi>) {
    this.thread = thread;
  }

  static start({ state, logger, settings, onEvent }: ImagesThreadOptions): ImagesThread {
    const events = new EventChannel(onEvent, logger);
    return new ImagesThread(
      startThread<ImagesApi, ImagesWorkerData>({
        name: 'images',
        resourceLimits,
        state,
        logger,
        onStart: () => ({ ...settings, events: events.open() }),
        onClosed: () => events.close(),
      }),
    );
  }

  /**
   * Has no deadline here: the thread limits the duration of a pull. The call is retried when the thread dies: the runtime continues the pull, or
   * starts it again.
   */
  ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult> {
    return this.thread.call(async (api) => await api.ensureImage(request), { deadlineMs: null, retry: true });
  }
  listImages(): Promise<readonly RuntimeImage[]> {
    return this.thread.call((api) => api.listImages(), { retry: true });
  }
  collectContainers(request: ContainerGcRequest): Promise<ContainerGcReply> {
    return this.thread.call((api) => api.collectContainers(request), { deadlineMs: collectDeadlineMs });
  }
  removeContainers(ids: readonly ContainerID[]): Promise<void> {
    return this.thread.call((api) => api.removeContainers(ids), { deadlineMs: collectDeadlineMs, retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
