/**
 * A task's line home: on it the task asks main for what only others may do, and hears that it should stop or hurry. The line
 * dying (main closed it, or is gone) means stop.
 */
import { firstPermit, type PodSyncReply, type PodSyncRequest, type RecordedEvent } from '../../shared/contracts/pod-sync.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../shared/contracts/images.ts';
import type { ValueRef, ValueResult } from '../../shared/contracts/values.ts';

/** The task was told to stop, and stops. Not a failure. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(why: string) {
    super(`the sync was stopped: ${why}`);
  }
}

/** What a line needs of a MessagePort. */
export interface LinePort {
  postMessage(message: PodSyncRequest): void;
  on(event: 'message', listener: (reply: PodSyncReply) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  close(): void;
}

type Answer = Extract<PodSyncReply, { readonly id: number }>;
interface Question {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (err: Error) => void;
}

export class Line {
  readonly #port: LinePort;
  readonly #stop = new AbortController();
  readonly #questions = new Map<number, Question>();
  readonly #hurry = new Set<(gracePeriodSeconds: number) => void>();
  #lastId = 0;
  #hasSandboxPermit: boolean;
  #leastGraceSeconds = Infinity;
  #closed = false;

  constructor(port: LinePort, hasSandboxPermit = false) {
    this.#port = port;
    this.#hasSandboxPermit = hasSandboxPermit;
    port.on('message', (reply) => this.#hear(reply));
    port.on('close', () => this.#end('its line was closed'));
  }

  /** Aborts when the task should stop; the reason is a Stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Settles with main's answer, or rejects with Stopped. */
  async ensureImage(image: EnsureImageRequest): Promise<EnsureImageResult> {
    const answer = await this.#ask((id) => ({ type: 'ensureImage', id, image }));
    if (answer.type !== 'image') throw new Error(`asked for the image ${image.image}, was answered with a ${answer.type}`);
    return answer.result;
  }

  /** What lies in the API server: a result for each, in order. Rejects with Stopped only. */
  async values(refs: readonly ValueRef[]): Promise<readonly ValueResult[]> {
    const answer = await this.#ask((id) => ({ type: 'values', id, refs }));
    if (answer.type !== 'values') throw new Error(`asked for ${refs.length} values, was answered with a ${answer.type}`);
    return answer.results;
  }

  /** Runs `start` with a start permit, and gives it back. Rejects with Stopped when the permit did not come before the stop. */
  async withPermit<T>(kind: 'sandbox' | 'container', start: () => Promise<T>): Promise<T> {
    let permit = 0;
    let succeeded = false;
    try {
      if (kind === 'sandbox' && this.#hasSandboxPermit) {
        this.#hasSandboxPermit = false;
        permit = firstPermit;
        this.signal.throwIfAborted();
      } else {
        await this.#ask((id) => ({ type: 'startPermit', id: (permit = id), kind }));
      }
      const result = await start();
      succeeded = true;
      return result;
    } finally {
      // Also when it never came: it may be on its way.
      if (permit !== 0) this.#post({ type: 'returnPermit', id: permit, succeeded });
    }
  }

  volumesInPlace(volumes: readonly string[]): void {
    this.#post({ type: 'volumesInPlace', volumes });
  }

  event(event: RecordedEvent): void {
    this.#post({ type: 'event', event });
  }

  /** Called with each shorter grace period, and at once if one came before. Returns how to stop listening. */
  onShrink(listener: (gracePeriodSeconds: number) => void): () => void {
    this.#hurry.add(listener);
    if (this.#leastGraceSeconds < Infinity) listener(this.#leastGraceSeconds);
    return () => void this.#hurry.delete(listener);
  }

  /** The task is over: what it still asks for is rejected. */
  close(): void {
    this.#end('it is over');
    if (this.#closed) return;
    this.#closed = true;
    this.#port.close();
  }

  #ask(request: (id: number) => PodSyncRequest): Promise<Answer> {
    const id = (this.#lastId += 1);
    return new Promise<Answer>((resolve, reject) => {
      if (this.signal.aborted) return reject(this.signal.reason as Error);
      this.#questions.set(id, { resolve, reject });
      this.#post(request(id));
    });
  }

  #post(message: PodSyncRequest): void {
    if (!this.#closed) this.#port.postMessage(message);
  }

  #hear(reply: PodSyncReply): void {
    switch (reply.type) {
      case 'image':
      case 'permit':
      case 'values':
        this.#questions.get(reply.id)?.resolve(reply);
        this.#questions.delete(reply.id);
        return;
      case 'stop':
        this.#end('main said so');
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
