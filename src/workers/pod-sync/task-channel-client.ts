/**
 * A task's line home: on it the task asks main for what only others may do, and hears that it should stop or hurry. The line
 * dying (main closed it, or is gone) means stop.
 */
import {
  sandboxPermitID,
  type PodSyncRequest,
  type PodSyncReply,
  type PodSyncMessage,
  type PodSyncNotification,
  type RecordedEvent,
  type WaitingReason,
} from '../../shared/contracts/pod-sync/task.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../shared/contracts/images.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import type { PodObjectRef, PodObjectResult } from '../../shared/contracts/pod-objects.ts';

/** The task was told to stop, and stops. Not a failure. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(why: string) {
    super(`the sync was stopped: ${why}`);
  }
}

/** What a line needs of a MessagePort. */
export interface ChannelPort {
  postMessage(message: readonly PodSyncMessage[]): void;
  on(event: 'message', listener: (reply: PodSyncReply) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  close(): void;
}

type Answer = Extract<PodSyncReply, { readonly id: number }>;
interface Question {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (err: Error) => void;
}

export class TaskChannelClient {
  readonly #port: ChannelPort;
  readonly #stop = new AbortController();
  readonly #unwanted = new AbortController();
  readonly #questions = new Map<number, Question>();
  readonly #hurry = new Set<(gracePeriodSeconds: number) => void>();
  /** Waits for the end of the turn, or the next question: what the task does next is asked of the runtime before main is woken. */
  #told: PodSyncNotification[] = [];
  #flush: NodeJS.Immediate | undefined;
  #lastId = 0;
  /** What the permit that came with the task is for; null once it is used up. */
  #atHand: 'sandbox' | 'container' | null;
  #leastGraceSeconds = Infinity;
  #closed = false;

  constructor(port: ChannelPort, hasSandboxPermit = false) {
    this.#port = port;
    this.#atHand = hasSandboxPermit ? 'sandbox' : null;
    port.on('message', (reply) => this.#hear(reply));
    port.on('close', () => this.#end('its line was closed'));
  }

  /** Aborts when the task should stop; the reason is a Stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborts when the pod ends, and with it what the runtime is still to make. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  /** Settles with main's answer, or rejects with Stopped. */
  async ensureImage(image: EnsureImageRequest): Promise<EnsureImageResult> {
    const answer = await this.#ask((id) => ({ type: 'ensureImage', id, image }));
    if (answer.type !== 'image') throw new Error(`asked for the image ${image.image}, was answered with a ${answer.type}`);
    return answer.result;
  }

  /** What lies in the API server: a result for each, in order. Rejects with Stopped only. */
  async podObjects(refs: readonly PodObjectRef[]): Promise<readonly PodObjectResult[]> {
    const answer = await this.#ask((id) => ({ type: 'values', id, refs }));
    if (answer.type !== 'values') throw new Error(`asked for ${refs.length} values, was answered with a ${answer.type}`);
    return answer.results;
  }

  /**
   * Runs `start` with a start permit, and gives it back. Rejects with Stopped when the permit did not come before the stop. A sandbox's that
   * came with the task is passed on where its container `isNext`: else that would ask for another one, and wait a trip to main for it.
   */
  async withPermit<T>(kind: 'sandbox' | 'container', start: () => Promise<T>, isNext = () => false): Promise<T> {
    let permit = 0;
    let succeeded = false;
    try {
      if (this.#atHand === kind) {
        this.#atHand = null;
        permit = sandboxPermitID;
        this.signal.throwIfAborted();
      } else {
        await this.#ask((id) => ({ type: 'startPermit', id: (permit = id), kind }));
      }
      const result = await start();
      succeeded = true;
      return result;
    } finally {
      if (succeeded && permit === sandboxPermitID && kind === 'sandbox' && isNext()) {
        this.#atHand = 'container';
        this.#tell({ type: 'passPermit', id: permit });
      }
      // Also when it never came: it may be on its way.
      else if (permit !== 0) this.#tell({ type: 'returnPermit', id: permit, succeeded });
    }
  }

  /** To be called before running containers are stopped that the task starts again. False: one of them has ended by itself. Rejects with Stopped only. */
  async beginRestart(containers: readonly ContainerID[]): Promise<boolean> {
    const answer = await this.#ask((id) => ({ type: 'beginRestart', id, containers }));
    return answer.type === 'restart' && answer.allowed;
  }

  volumesMounted(volumes: readonly string[]): void {
    this.#tell({ type: 'volumesInPlace', volumes });
  }

  containersEnded(): void {
    this.#tell({ type: 'containersEnded' });
  }

  waiting(container: string, why: WaitingReason): void {
    this.#tell({ type: 'waiting', container, why });
  }

  event(event: RecordedEvent): void {
    this.#tell({ type: 'event', event });
  }

  /** Called with each shorter grace period, and at once if one came before. Returns how to stop listening. */
  onShrink(listener: (gracePeriodSeconds: number) => void): () => void {
    this.#hurry.add(listener);
    if (this.#leastGraceSeconds < Infinity) listener(this.#leastGraceSeconds);
    return () => void this.#hurry.delete(listener);
  }

  /** The task is over: what it still asks for is rejected. Answers with what main has yet to be told. */
  close(): readonly PodSyncNotification[] {
    this.#end('it is over');
    if (this.#closed) return [];
    this.#closed = true;
    clearImmediate(this.#flush);
    this.#port.close();
    return this.#told;
  }

  #ask(request: (id: number) => PodSyncRequest): Promise<Answer> {
    const id = (this.#lastId += 1);
    return new Promise<Answer>((resolve, reject) => {
      if (this.signal.aborted) return reject(this.signal.reason as Error);
      this.#questions.set(id, { resolve, reject });
      this.#send(request(id));
    });
  }

  #tell(message: PodSyncNotification): void {
    this.#told.push(message);
    this.#flush ??= setImmediate(() => this.#send());
  }

  #send(...questions: PodSyncRequest[]): void {
    if (this.#closed) return;
    clearImmediate(this.#flush);
    this.#flush = undefined;
    this.#port.postMessage([...this.#told, ...questions]);
    this.#told = [];
  }

  #hear(reply: PodSyncReply): void {
    switch (reply.type) {
      case 'image':
      case 'permit':
      case 'values':
      case 'restart':
        this.#questions.get(reply.id)?.resolve(reply);
        this.#questions.delete(reply.id);
        return;
      case 'stop':
        this.#end('main said so');
        if (reply.podEnds) this.#unwanted.abort(this.signal.reason);
        return;
      case 'shrinkGracePeriod':
        if (reply.gracePeriodSeconds >= this.#leastGraceSeconds) return;
        this.#leastGraceSeconds = reply.gracePeriodSeconds;
        for (const listener of this.#hurry) listener(reply.gracePeriodSeconds);
        return;
      default:
        reply satisfies never;
    }
  }

  #end(why: string): void {
    if (this.signal.aborted) return;
    const stopped = new Stopped(why);
    this.#stop.abort(stopped);
    for (const { reject } of this.#questions.values()) reject(stopped);
    this.#questions.clear();
  }
}
