/**
 * Main's end of a task channel (contracts/pod-sync/channel.ts): replies to the requests of one sync task, handles its notifications and sends its
 * commands. When the task is over, or lost with its thread, the channel releases the task's permits and cancels its pending requests.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../shared/contracts/images.ts';
import {
  sandboxPermitID,
  type MessageToMain,
  type MessageToTask,
  type PodSyncNotification,
  type PodSyncRequest,
} from '../../shared/contracts/pod-sync/channel.ts';
import type { ActuatedResources } from '../../shared/contracts/pod-sync/allocation.ts';
import type { PodSyncTask } from '../../shared/contracts/pod-sync/task.ts';
import type { WaitingReason } from '../../shared/contracts/pod-sync/result.ts';
import type { PodObjectRef, PodObjectResult } from '../../shared/contracts/pod-objects.ts';
import type {
  PublishedFolder,
  PublishedVolumeResult,
  UnpublishedVolumeResult,
  VolumeNotReady,
} from '../../shared/contracts/published-volumes.ts';
import type { PhaseReport } from '../../shared/contracts/timeline.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { KubeletError, toFailure, type Failure } from '../../shared/errors/kubelet-error.ts';
import { contain } from '../../shared/faults/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { podObjectBytes } from './pod-object-bytes.ts';

/** A task without its channel. The pool creates a new channel each time it sends the task. */
export type PodTask = PodSyncTask extends infer T ? (T extends unknown ? Omit<T, 'channel'> : never) : never;

export interface Permit {
  /** Idempotent: only the first call has an effect. */
  release(succeeded: boolean): void;
  /** A sandbox permit becomes the permit of the container that starts next in the sandbox. */
  transfer?(): void;
  /** The pod ends: the start stops counting against the limit of concurrent starts. The permit is still released when the start has ended. */
  stopCounting?(): void;
}

export interface TaskHandlers {
  ensureImage(request: EnsureImageRequest, task: PodTask): Promise<EnsureImageResult>;
  /** The signal aborts when the task is over; the promise then rejects. */
  startPermit(kind: 'sandbox' | 'container', task: PodTask, signal: AbortSignal): Promise<Permit>;
  /** Returns a permit without waiting, or null: the task then sends a request. */
  tryStartPermit?(kind: 'sandbox', task: PodTask): Permit | null;
  event(event: RecordedEvent): void;
  volumesMounted?(volumes: readonly string[], task: PodTask): void;
  containersEnded?(task: PodTask): void;
  /** A container could not be started. */
  containerWaiting?(container: string, waiting: WaitingReason, task: PodTask): void;
  /** The postStart hook of a container is unfinished from now on, or has ended. */
  postStartHook?(container: ContainerID, unfinished: boolean): void;
  phase?(report: PhaseReport, task: PodTask): void;
  /** The task is over, and its last notifications are handled. */
  taskEnded?(task: PodTask): void;
  /** These resources are in force now. */
  actuated?(actuated: ActuatedResources, task: PodTask): void;
  /** Resolves when the record of these resources is durable, or can't be written. */
  recordActuated?(actuated: ActuatedResources, task: PodTask): Promise<void>;
  /** Whether the task may stop these containers in order to restart them. */
  beginRestart?(containers: readonly ContainerID[], task: PodTask): boolean;
  /**
   * Reads objects of the API server: one result for each reference, in order. The signal aborts when the task is over. Absent: the kubelet runs
   * standalone.
   */
  podObjects?(refs: readonly PodObjectRef[], task: PodTask, signal: AbortSignal): Promise<readonly PodObjectResult[]>;
  /** Publishes a volume of the pod, by its name in the pod. */
  publishVolume?(volume: string, task: PodTask): Promise<PublishedVolumeResult>;
  /** Ends what is published in this folder of the pod. */
  unpublishVolume?(folder: PublishedFolder, task: PodTask): Promise<UnpublishedVolumeResult>;
}

/** A task limits its requests (workers/pod-sync/pod/request-window.ts). More than this means that the task is broken. */
const maxRequests = 1000;
/** Main closes the channel this long after its task, unless the task or the end of its thread has closed it. */
const lingerMs = 1000;

/** One object for all tasks: an abort without a reason creates an error with a stack, for every sync of every pod. */
const taskIsOver = new KubeletError('TaskIsOver', 'the task that asked is over');

export class TaskChannel {
  /** The task's end. */
  readonly port: MessagePort;
  readonly #mainPort: MessagePort;
  readonly #task: PodTask;
  readonly #handlers: TaskHandlers;
  readonly #logger: Logger;
  readonly #permits = new Map<number, Permit>();
  /** IDs of permits that the task released before main granted them. */
  readonly #releasedEarly = new Set<number>();
  readonly #finished = new AbortController();
  #pendingRequests = 0;
  /** True: the task starts with the permit of its sandbox. */
  readonly hasSandboxPermit: boolean;

  /** @param channel for tests without threads */
  constructor(task: PodTask, handlers: TaskHandlers, logger: Logger, { port1, port2 } = new MessageChannel()) {
    this.#mainPort = port1;
    this.port = port2;
    this.#task = task;
    this.#handlers = handlers;
    this.#logger = logger;
    const permit = startsWithSandbox(task) ? (handlers.tryStartPermit?.('sandbox', task) ?? null) : null;
    this.hasSandboxPermit = permit !== null;
    if (permit) this.#permits.set(sandboxPermitID, permit);
    port1.on('message', (messages: readonly MessageToMain[]) => this.#onMessages(messages));
  }

  /** Does nothing once the channel is closed. */
  post(message: MessageToTask): void {
    if (!this.#finished.signal.aborted) this.#mainPort.postMessage(message);
  }

  /** Stops the task at its next consistent point. What the task is starting no longer counts against other pods' starts. */
  stop(podEnds: boolean): void {
    this.post({ type: 'stop', podEnds });
    for (const permit of this.#permits.values()) permit.stopCounting?.();
  }

  /**
   * Call this when the task has ended, or is lost. Messages that the task posted before are handled until it has closed its end, because a result
   * may overtake the channel.
   */
  close(lastNotifications: readonly PodSyncNotification[] = []): void {
    if (this.#finished.signal.aborted) return;
    const timer = setTimeout(() => this.#mainPort.close(), lingerMs);
    this.#mainPort.once('close', () => clearTimeout(timer));
    this.#finished.abort(taskIsOver);
    // The receiver of the result requests an inspection of the pod, which has priority.
    setImmediate(() => {
      this.#onMessages(lastNotifications);
      for (const permit of this.#permits.values()) permit.release(false);
      this.#permits.clear();
      this.#handlers.taskEnded?.(this.#task);
    });
  }

  #onMessages(messages: readonly MessageToMain[]): void {
    const fault = { handler: 'task channel', logger: this.#logger, fields: { podUID: this.#task.podUID } };
    for (const message of messages) contain(fault, () => this.#onMessage(message));
  }

  #onMessage(message: MessageToMain): void {
    switch (message.type) {
      case 'event':
        return this.#handlers.event(message.event);
      case 'volumesMounted':
        return this.#handlers.volumesMounted?.(message.volumes, this.#task);
      case 'containersEnded':
        return this.#handlers.containersEnded?.(this.#task);
      case 'containerWaiting':
        return this.#handlers.containerWaiting?.(message.container, message.waiting, this.#task);
      case 'postStartHook':
        return this.#handlers.postStartHook?.(message.container, message.unfinished);
      case 'phase':
        return this.#handlers.phase?.(message.report, this.#task);
      case 'actuated':
        return this.#handlers.actuated?.(message.actuated, this.#task);
      case 'recordActuated':
        return this.#reply(() => this.#recordActuated(message.id, message.actuated));
      case 'beginRestart':
        return this.post({
          type: 'beginRestart',
          id: message.id,
          allowed: this.#handlers.beginRestart?.(message.containers, this.#task) ?? true,
        });
      case 'transferPermit':
        return this.#permits.get(message.id)?.transfer?.();
      case 'releasePermit':
        return this.#releasePermit(message.id, message.succeeded);
      case 'ensureImage':
        return this.#reply(() => this.#ensureImage(message.id, message.image));
      case 'podObjects':
        return this.#reply(() => this.#podObjects(message));
      case 'publishVolume':
        return this.#reply(() => this.#publishVolume(message.id, message.volume));
      case 'unpublishVolume':
        return this.#reply(() => this.#unpublishVolume(message.id, message.folder));
      case 'startPermit':
        return this.#reply(() => this.#startPermit(message.id, message.kind));
      default:
        message satisfies never;
    }
  }

  #reply(handle: () => Promise<void>): void {
    if (this.#finished.signal.aborted) return;
    if (this.#pendingRequests >= maxRequests) {
      this.#logger.error({ podUID: this.#task.podUID }, 'A sync task has too many requests under way; this one is not answered');
      return;
    }
    this.#pendingRequests += 1;
    handle()
      .catch(
        (err: unknown) =>
          this.#finished.signal.aborted || this.#logger.error({ podUID: this.#task.podUID, err }, 'A request of a sync task failed'),
      )
      .finally(() => (this.#pendingRequests -= 1));
  }

  #releasePermit(id: number, succeeded: boolean): void {
    const permit = this.#permits.get(id);
    if (permit) permit.release(succeeded);
    else if (this.#releasedEarly.size < maxRequests) this.#releasedEarly.add(id);
    this.#permits.delete(id);
  }

  async #ensureImage(id: number, image: EnsureImageRequest): Promise<void> {
    const result = await this.#handlers
      .ensureImage(image, this.#task)
      .catch((err: unknown): EnsureImageResult => ({ outcome: 'failed', failure: toFailure(err, 'ErrImagePull') }));
    this.post({ type: 'ensureImage', id, result });
  }

  async #podObjects({ id, refs, maxBytes }: Extract<PodSyncRequest, { readonly type: 'podObjects' }>): Promise<void> {
    const failed = (failure: Failure) => refs.map((): PodObjectResult => ({ outcome: 'failed', failure }));
    const results = this.#handlers.podObjects
      ? await this.#handlers
          .podObjects(refs, this.#task, this.#finished.signal)
          .catch((err: unknown) => failed(toFailure(err, 'InternalError')))
      : failed({ reason: 'NoClient', message: 'kube client is not configured: this kubelet runs standalone' });
    const bytes = podObjectBytes(results);
    this.post({ type: 'podObjects', id, results: bytes <= maxBytes ? results : null, bytes });
  }

  async #publishVolume(id: number, volume: string): Promise<void> {
    const result = await (this.#handlers.publishVolume?.(volume, this.#task) ?? Promise.resolve(noVolumes)).catch(notReady);
    this.post({ type: 'publishVolume', id, result });
  }

  async #unpublishVolume(id: number, folder: PublishedFolder): Promise<void> {
    const result = await (this.#handlers.unpublishVolume?.(folder, this.#task) ?? Promise.resolve(noVolumes)).catch(notReady);
    this.post({ type: 'unpublishVolume', id, result });
  }

  async #recordActuated(id: number, actuated: ActuatedResources): Promise<void> {
    await this.#handlers.recordActuated?.(actuated, this.#task);
    this.post({ type: 'recordActuated', id });
  }

  async #startPermit(id: number, kind: 'sandbox' | 'container'): Promise<void> {
    const permit = await this.#handlers.startPermit(kind, this.#task, this.#finished.signal);
    if (this.#finished.signal.aborted || this.#releasedEarly.delete(id)) return permit.release(false);
    this.#permits.set(id, permit);
    this.post({ type: 'startPermit', id });
  }
}

const noVolumes: VolumeNotReady = { outcome: 'failed', message: 'this kubelet has no volumes thread' };

function notReady(err: unknown): VolumeNotReady {
  return { outcome: 'failed', message: toFailure(err, 'InternalError').message };
}

/** True if a sandbox is the first thing that the task starts: the task stops nothing and waits for nothing before. */
function startsWithSandbox(task: PodTask): boolean {
  if (task.kind !== 'sync' || task.dependenciesReady !== true) return false;
  return !task.status || (task.status.sandboxes.length === 0 && task.status.containers.length === 0);
}
