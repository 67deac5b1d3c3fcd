/**
 * Main's end of the line that a sync task brings: what the task asks for is answered, and what it must hear is posted. When the task
 * is over, or lost with its thread, whatever it had been granted is given back, and what it still waits for is cancelled.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { EnsureImageRequest, EnsureImageResult } from '../../shared/contracts/images.ts';
import {
  sandboxPermitID,
  type PodSyncReply,
  type PodSyncMessage,
  type PodSyncTask,
  type PodSyncNotification,
  type RecordedEvent,
  type WaitingReason,
} from '../../shared/contracts/pod-sync/task.ts';
import type { PodObjectRef, PodObjectResult } from '../../shared/contracts/pod-objects.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { KubeletError, toFailure, type Failure } from '../../shared/errors/kubelet-error.ts';
import { contain } from '../../shared/errors/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** A task as main states it: the pool adds the line, a new one each time that the task is sent. */
export type PodTask = PodSyncTask extends infer T ? (T extends unknown ? Omit<T, 'channel'> : never) : never;

export interface Permit {
  /** Gives it back; only the first call counts. */
  release(succeeded: boolean): void;
  /** A sandbox's becomes that of the container that starts next in it. */
  transfer?(): void;
  /** Nobody wants any more what it is held for; it is given back all the same when that has ended. */
  stopCounting?(): void;
}

export interface TaskHandlers {
  ensureImage(request: EnsureImageRequest, task: PodTask): Promise<EnsureImageResult>;
  /** The signal aborts when the task does not need it any more; then it rejects. */
  startPermit(kind: 'sandbox' | 'container', task: PodTask, signal: AbortSignal): Promise<Permit>;
  /** The same at once, or null: then the task asks for itself. */
  tryStartPermit?(kind: 'sandbox', task: PodTask): Permit | null;
  event(event: RecordedEvent): void;
  volumesInPlace?(volumes: readonly string[], task: PodTask): void;
  containersEnded?(task: PodTask): void;
  /** A container could not be started. */
  waiting?(container: string, why: WaitingReason, task: PodTask): void;
  /** Whether the task may stop these containers to start them again. */
  beginRestart?(containers: readonly ContainerID[], task: PodTask): boolean;
  /**
   * What lies in the API server: a result for each ref, in order. The signal aborts when the task does not need it any more. Absent: the
   * kubelet runs standalone.
   */
  values?(refs: readonly PodObjectRef[], task: PodTask, signal: AbortSignal): Promise<readonly PodObjectResult[]>;
}

/** A task asks for few things at a time: one that asks for more has gone wrong. */
const maxRequests = 1000;
/** Then the line is closed from here: the task did not do so, nor did its thread's end. */
const lingerMs = 1000;

/** One for all: without a reason each abort makes an error with a stack of its own, for every sync of every pod. */
const taskIsOver = new KubeletError('TaskIsOver', 'the task that asked is over');

export class TaskChannel {
  /** The task's end. */
  readonly port: MessagePort;
  readonly #mainPort: MessagePort;
  readonly #task: PodTask;
  readonly #handlers: TaskHandlers;
  readonly #logger: Logger;
  readonly #permits = new Map<number, Permit>();
  /** Permits that were given back before they were granted: the task did not wait for them. */
  readonly #unwanted = new Set<number>();
  readonly #over = new AbortController();
  #asking = 0;
  /** The task need not ask for its sandbox's permit: it has it from the beginning. */
  readonly hasSandboxPermit: boolean;

  constructor(task: PodTask, handlers: TaskHandlers, logger: Logger) {
    const { port1, port2 } = new MessageChannel();
    this.#mainPort = port1;
    this.port = port2;
    this.#task = task;
    this.#handlers = handlers;
    this.#logger = logger;
    const permit = wantsSandboxSoon(task) ? (handlers.tryStartPermit?.('sandbox', task) ?? null) : null;
    this.hasSandboxPermit = permit !== null;
    if (permit) this.#permits.set(sandboxPermitID, permit);
    port1.on('message', (requests: readonly PodSyncMessage[]) => this.#hear(requests));
  }

  post(reply: PodSyncReply): void {
    if (!this.#over.signal.aborted) this.#mainPort.postMessage(reply);
  }

  /** The task is to end as soon as nothing is left half done. What it has begun to start keeps no other pod from starting. */
  stop(podEnds: boolean): void {
    this.post({ type: 'stop', podEnds });
    for (const permit of this.#permits.values()) permit.stopCounting?.();
  }

  /** The task has ended, or is lost. What it said before is still heard, until it has closed its end: a result may overtake the line. */
  close(told: readonly PodSyncNotification[] = []): void {
    if (this.#over.signal.aborted) return;
    const timer = setTimeout(() => this.#mainPort.close(), lingerMs);
    this.#mainPort.once('close', () => clearTimeout(timer));
    this.#over.abort(taskIsOver);
    // Who waits for the result asks for a look at the pod: that goes first.
    setImmediate(() => {
      this.#hear(told);
      for (const permit of this.#permits.values()) permit.release(false);
      this.#permits.clear();
    });
  }

  #hear(requests: readonly PodSyncMessage[]): void {
    const fault = { handler: 'pod sync line', logger: this.#logger, fields: { podUID: this.#task.podUID } };
    for (const request of requests) contain(fault, () => this.#answer(request));
  }

  #answer(request: PodSyncMessage): void {
    switch (request.type) {
      case 'event':
        return this.#handlers.event(request.event);
      case 'volumesInPlace':
        return this.#handlers.volumesInPlace?.(request.volumes, this.#task);
      case 'containersEnded':
        return this.#handlers.containersEnded?.(this.#task);
      case 'waiting':
        return this.#handlers.waiting?.(request.container, request.why, this.#task);
      case 'beginRestart':
        return this.post({
          type: 'restart',
          id: request.id,
          allowed: this.#handlers.beginRestart?.(request.containers, this.#task) ?? true,
        });
      case 'passPermit':
        return this.#permits.get(request.id)?.transfer?.();
      case 'returnPermit':
        return this.#takeBack(request.id, request.succeeded);
      case 'ensureImage':
        return this.#ask(() => this.#ensureImage(request.id, request.image));
      case 'values':
        return this.#ask(() => this.#values(request.id, request.refs));
      case 'startPermit':
        return this.#ask(() => this.#startPermit(request.id, request.kind));
      default:
        request satisfies never;
    }
  }

  #ask(use: () => Promise<void>): void {
    if (this.#over.signal.aborted) return;
    if (this.#asking >= maxRequests) {
      this.#logger.error({ podUID: this.#task.podUID }, 'a sync asks for too much at once; the request is not answered');
      return;
    }
    this.#asking += 1;
    use()
      .catch(
        (err: unknown) => this.#over.signal.aborted || this.#logger.error({ podUID: this.#task.podUID, err }, 'a request of a sync failed'),
      )
      .finally(() => (this.#asking -= 1));
  }

  #takeBack(id: number, succeeded: boolean): void {
    const permit = this.#permits.get(id);
    if (permit) permit.release(succeeded);
    else if (this.#unwanted.size < maxRequests) this.#unwanted.add(id);
    this.#permits.delete(id);
  }

  async #ensureImage(id: number, image: EnsureImageRequest): Promise<void> {
    const result = await this.#handlers
      .ensureImage(image, this.#task)
      .catch((err: unknown): EnsureImageResult => ({ outcome: 'failed', failure: toFailure(err, 'ErrImagePull') }));
    this.post({ type: 'image', id, result });
  }

  async #values(id: number, refs: readonly PodObjectRef[]): Promise<void> {
    const failed = (failure: Failure) => refs.map((): PodObjectResult => ({ outcome: 'failed', failure }));
    const results = this.#handlers.values
      ? await this.#handlers.values(refs, this.#task, this.#over.signal).catch((err: unknown) => failed(toFailure(err, 'InternalError')))
      : failed({ reason: 'NoClient', message: 'kube client is not configured: this kubelet runs standalone' });
    this.post({ type: 'values', id, results });
  }

  async #startPermit(id: number, kind: 'sandbox' | 'container'): Promise<void> {
    const permit = await this.#handlers.startPermit(kind, this.#task, this.#over.signal);
    if (this.#over.signal.aborted || this.#unwanted.delete(id)) return permit.release(false);
    this.#permits.set(id, permit);
    this.post({ type: 'permit', id });
  }
}

/** Nothing of the pod is there that is to be ended before, and it has nothing to wait for: the sandbox is the first that is asked for. */
function wantsSandboxSoon(task: PodTask): boolean {
  if (task.kind !== 'sync' || task.dependenciesReady !== true) return false;
  return !task.status || (task.status.sandboxes.length === 0 && task.status.containers.length === 0);
}
