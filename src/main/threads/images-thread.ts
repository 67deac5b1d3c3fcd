/** Main's half of the images thread. */
import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { PullTokensApi } from '../../shared/contracts/credential-providers.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type {
  ContainerGcReply,
  ContainerGcRequest,
  EnsureImageRequest,
  EnsureImageResult,
  ImagesNotification,
  LiveImagesSettings,
  PullWait,
  ImageGcReply,
  NeededImages,
  RuntimeImage,
  ImagesApi,
  ImagesWorkerData,
} from '../../shared/contracts/images.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { EventChannel } from './event-channel.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface ImagesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ImagesWorkerData, 'events' | 'main'>;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly onPullWait: (wait: PullWait) => void;
  /** Gets the tokens for credential plugins. */
  readonly pullToken: PullTokensApi['pullToken'];
}

/** Requests that wait hold the annotations of their pods (at most 256 KiB) and a part of their pull secrets. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 2 };
/** A collection removes hundreds of containers one by one, each within the runtime's own deadline. */
const collectDeadlineMs = 10 * 60_000;

/** State that survives a restart of the thread. */
interface Current {
  /** Main's end of the running thread's port. */
  port: MessagePort | null;
  /** A thread that starts gets the newest settings. */
  live: LiveImagesSettings;
}

export class ImagesThread {
  readonly thread: Thread<ImagesApi>;
  readonly #current: Current;

  private constructor(thread: Thread<ImagesApi>, current: Current) {
    this.thread = thread;
    this.#current = current;
  }

  static start({ state, logger, settings, onEvent, onPullWait, pullToken }: ImagesThreadOptions): ImagesThread {
    const onNotification = (message: ImagesNotification) => ('pullWait' in message ? onPullWait(message.pullWait) : onEvent(message));
    const events = new EventChannel(onNotification, logger);
    const current: Current = { port: null, live: settings.live };
    const thread = startThread<ImagesApi, ImagesWorkerData>({
      name: 'images',
      resourceLimits,
      state,
      logger,
      onStart: () => {
        const { port1, port2 } = new MessageChannel();
        expose({ pullToken } satisfies PullTokensApi, endpoint(port1));
        current.port = port1;
        return { ...settings, live: current.live, events: events.open(), main: port2 };
      },
      onClosed: () => {
        events.close();
        current.port?.close();
      },
    });
    return new ImagesThread(thread, current);
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
  collectImages(needed: NeededImages): Promise<ImageGcReply> {
    return this.thread.call((api) => api.collectImages(needed), { deadlineMs: collectDeadlineMs });
  }
  deleteUnusedImages(needed: NeededImages): Promise<ImageGcReply> {
    return this.thread.call((api) => api.deleteUnusedImages(needed), { deadlineMs: collectDeadlineMs });
  }
  planImageGc(needed: NeededImages): Promise<string> {
    return this.thread.call((api) => api.planImageGc(needed), { retry: true });
  }
  collectContainers(request: ContainerGcRequest): Promise<ContainerGcReply> {
    return this.thread.call((api) => api.collectContainers(request), { deadlineMs: collectDeadlineMs });
  }
  removeContainers(ids: readonly ContainerID[]): Promise<void> {
    return this.thread.call((api) => api.removeContainers(ids), { deadlineMs: collectDeadlineMs, retry: true });
  }
  sampleFilesystems(): Promise<void> {
    return this.thread.call((api) => api.sampleFilesystems(), { retry: true });
  }
  /** Replaces the live settings, also of threads that start later. */
  configure(live: LiveImagesSettings): Promise<void> {
    this.#current.live = live;
    return this.thread.call((api) => api.configure(live), { retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
