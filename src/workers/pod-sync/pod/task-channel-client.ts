/**
 * The task's end of its task channel (contracts/pod-sync/channel.ts): sends requests and notifications to main, receives replies and commands.
 * A closed channel stops the task: main closed its end, or is gone.
 */
import {
  sandboxPermitID,
  type MessageToMain,
  type MessageToTask,
  type PodSyncNotification,
  type PodSyncReply,
  type PodSyncRequest,
} from '../../../shared/contracts/pod-sync/channel.ts';
import { cutMessage } from '../../../shared/errors/cut-message.ts';
import type { WaitingReason } from '../../../shared/contracts/pod-sync/result.ts';
import type { ActuatedResources } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { RecordedEvent } from '../../../shared/contracts/event.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../../shared/contracts/images.ts';
import { Listeners } from '../../../shared/concurrency/listeners.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { PodObjectRef } from '../../../shared/contracts/pod-objects.ts';
import type { PublishedFolder, PublishedVolumeResult, UnpublishedVolumeResult } from '../../../shared/contracts/published-volumes.ts';
import type { PhaseReport } from '../../../shared/contracts/timeline.ts';
import { RequestWindow } from './request-window.ts';

/** The task was stopped by main. Not a failure. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(reason: string) {
    super(`the sync was stopped: ${reason}`);
  }
}

/** The part of a MessagePort that the channel uses. */
export interface ChannelPort {
  postMessage(messages: readonly MessageToMain[]): void;
  on(event: 'message', listener: (message: MessageToTask) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  close(): void;
}

/** A long phase must show in the timeline while it lasts. Most phases are shorter than this delay: their reports go with another message or the result. */
const phaseDelayMs = 250;

type ReplyTo<Request extends PodSyncRequest> = Extract<PodSyncReply, { readonly type: Request['type'] }>;

type PodObjectsRequest = Extract<PodSyncRequest, { readonly type: 'podObjects' }>;

interface PendingRequest {
  readonly resolve: (reply: PodSyncReply) => void;
  readonly reject: (err: Error) => void;
}

export class TaskChannelClient {
  readonly #port: ChannelPort;
  readonly #stop = new AbortController();
  readonly #podEnds = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #pending = new Map<number, PendingRequest>();
  readonly #window = new RequestWindow();
  readonly #shrinkListeners = new Listeners<[gracePeriodSeconds: number]>();
  /**
   * Notifications are sent at the end of the event loop iteration, or with the next request. So the task's next call to the runtime is sent before main
   * wakes up.
   */
  #notifications: PodSyncNotification[] = [];
  #flush: NodeJS.Immediate | undefined;
  #phaseFlush: NodeJS.Timeout | undefined;
  #lastID = 0;
  /** The use that is left for the sandbox permit that came with the task. Null without such a permit, and when the permit is used up. */
  #unusedPermit: 'sandbox' | 'container' | null;
  #gracePeriodSeconds = Infinity;
  #closed = false;

  constructor(port: ChannelPort, hasSandboxPermit = false) {
    this.#port = port;
    this.#unusedPermit = hasSandboxPermit ? 'sandbox' : null;
    port.on('message', (message) => this.#onMessage(message));
    port.on('close', () => {
      this.#abort('its channel was closed');
      if (!this.#closed) this.#abandoned.abort(this.signal.reason);
    });
  }

  /** Aborts when the task should stop. The reason is a Stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborts when the pod ends: what the runtime is still creating or resizing for the pod is not needed any more. */
  get podEnds(): AbortSignal {
    return this.#podEnds.signal;
  }

  /**
   * Aborts when main is gone, or the kubelet ends. Does not abort when the task stops because the pod ends: a hook or a kill that has begun continues, because
   * a second attempt would run the hook twice.
   */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Resolves with main's reply. Rejects with Stopped only. */
  async ensureImage(image: EnsureImageRequest): Promise<EnsureImageResult> {
    return (await this.#request((id) => ({ type: 'ensureImage', id, image }))).result;
  }

  /** Reads objects of the API server. Resolves with one result for each reference, in order; null for more than `maxBytes`. Rejects with Stopped only. */
  podObjects(refs: readonly PodObjectRef[], maxBytes: number): Promise<Pick<ReplyTo<PodObjectsRequest>, 'results' | 'bytes'>> {
    return this.#request((id) => ({ type: 'podObjects', id, refs, maxBytes }));
  }

  /** Publishes a volume of the pod, by its name in the pod. Rejects with Stopped only. */
  async publishVolume(volume: string): Promise<PublishedVolumeResult> {
    return (await this.#request((id) => ({ type: 'publishVolume', id, volume }))).result;
  }

  /** Ends what is published in this folder of the pod. Rejects with Stopped only. */
  async unpublishVolume(folder: PublishedFolder): Promise<UnpublishedVolumeResult> {
    return (await this.#request((id) => ({ type: 'unpublishVolume', id, folder }))).result;
  }

  /**
   * Runs `start` with a start permit, and releases the permit. Rejects with Stopped when the task is stopped before main grants the permit.
   * @param isNext called after the sandbox's start: whether its first container starts right away. Then that container gets the sandbox permit that came
   * with the task, which saves it a request to main.
   */
  async withPermit<T>(kind: 'sandbox' | 'container', start: () => Promise<T>, isNext = () => false): Promise<T> {
    let permit = 0;
    let succeeded = false;
    try {
      if (this.#unusedPermit === kind) {
        this.#unusedPermit = null;
        permit = sandboxPermitID;
        this.signal.throwIfAborted();
      } else {
        await this.#request((id) => ({ type: 'startPermit', id: (permit = id), kind }));
      }
      const result = await start();
      succeeded = true;
      return result;
    } finally {
      if (succeeded && permit === sandboxPermitID && kind === 'sandbox' && isNext()) {
        this.#unusedPermit = 'container';
        this.#notify({ type: 'transferPermit', id: permit });
      }
      // A permit whose reply has not arrived is released too: main may have granted it already.
      else if (permit !== 0) this.#notify({ type: 'releasePermit', id: permit, succeeded });
    }
  }

  /** Call this before stopping running containers in order to restart them. False: one of them has exited by itself. Rejects with Stopped only. */
  async beginRestart(containers: readonly ContainerID[]): Promise<boolean> {
    return (await this.#request((id) => ({ type: 'beginRestart', id, containers }))).allowed;
  }

  /** Resolves when main has recorded the resources, durably if it can. Rejects with Stopped only. */
  async recordActuated(actuated: ActuatedResources): Promise<void> {
    await this.#request((id) => ({ type: 'recordActuated', id, actuated }));
  }

  /** Sends a notification to main, as do the methods after this one (contracts/pod-sync/channel.ts describes each notification). */
  actuated(actuated: ActuatedResources): void {
    this.#notify({ type: 'actuated', actuated });
  }

  volumesMounted(volumes: readonly string[]): void {
    this.#notify({ type: 'volumesMounted', volumes });
  }

  containersEnded(): void {
    this.#notify({ type: 'containersEnded' });
  }

  postStartHook(container: ContainerID, unfinished: boolean): void {
    this.#notify({ type: 'postStartHook', container, unfinished });
  }

  containerWaiting(container: string, waiting: WaitingReason): void {
    this.#notify({ type: 'containerWaiting', container, waiting });
  }

  event(event: RecordedEvent): void {
    this.#notify({ type: 'event', event: { ...event, message: cutMessage(event.message) } });
  }

  /** Sends the report with the next message, or after `phaseDelayMs`: main does not wake up for each phase. */
  phase(report: PhaseReport): void {
    this.#notifications.push({ type: 'phase', report });
    if (!this.#closed) this.#phaseFlush ??= setTimeout(() => this.#send(), phaseDelayMs);
  }

  /** Calls the listener with each shorter grace period, and immediately if one has arrived before. Call the result to remove the listener. */
  onShrink(listener: (gracePeriodSeconds: number) => void): () => void {
    const removeListener = this.#shrinkListeners.add(listener);
    if (this.#gracePeriodSeconds < Infinity) listener(this.#gracePeriodSeconds);
    return removeListener;
  }

  /** Ends the channel with its task: rejects pending requests. Returns the notifications that were not sent yet. */
  close(): readonly PodSyncNotification[] {
    this.#abort('it is over');
    if (this.#closed) return [];
    this.#closed = true;
    clearImmediate(this.#flush);
    clearTimeout(this.#phaseFlush);
    this.#port.close();
    return this.#notifications;
  }

  #request<Request extends PodSyncRequest>(toRequest: (id: number) => Request): Promise<ReplyTo<Request>> {
    const id = (this.#lastID += 1);
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) return reject(this.signal.reason as Error);
      // A reply has the type of its request.
      this.#pending.set(id, { resolve: resolve as PendingRequest['resolve'], reject });
      const request = toRequest(id);
      this.#window.enter(request.type, () => this.#send(request));
    });
  }

  #notify(notification: PodSyncNotification): void {
    this.#notifications.push(notification);
    this.#flush ??= setImmediate(() => this.#send());
  }

  #send(...requests: PodSyncRequest[]): void {
    if (this.#closed) return;
    clearImmediate(this.#flush);
    this.#flush = undefined;
    clearTimeout(this.#phaseFlush);
    this.#phaseFlush = undefined;
    this.#port.postMessage([...this.#notifications, ...requests]);
    this.#notifications = [];
  }

  #onMessage(message: MessageToTask): void {
    switch (message.type) {
      case 'ensureImage':
      case 'startPermit':
      case 'podObjects':
      case 'publishVolume':
      case 'unpublishVolume':
      case 'beginRestart':
      case 'recordActuated':
        this.#pending.get(message.id)?.resolve(message);
        if (this.#pending.delete(message.id)) this.#window.leave(message.type);
        return;
      case 'stop':
        this.#abort('main stopped it');
        (message.podEnds ? this.#podEnds : this.#abandoned).abort(this.signal.reason);
        return;
      case 'shrinkGracePeriod':
        if (message.gracePeriodSeconds >= this.#gracePeriodSeconds) return;
        this.#gracePeriodSeconds = message.gracePeriodSeconds;
        this.#shrinkListeners.notify(message.gracePeriodSeconds);
        return;
      default:
        message satisfies never;
    }
  }

  #abort(reason: string): void {
    if (this.signal.aborted) return;
    const stopped = new Stopped(reason);
    this.#stop.abort(stopped);
    for (const { reject } of this.#pending.values()) reject(stopped);
    this.#pending.clear();
    this.#window.clear();
  }
}
