/**
 * The calls in progress of one server: short calls, and streams. A new call always finds a place: a full table evicts its oldest short call, whose
 * client most likely does not send or read. Streams may last, so the table refuses further streams when it is full.
 */
import { GrpcError, statusCode } from './status.ts';

export interface EvictableCall {
  evict(): void;
}

export interface CallTableLimits {
  readonly short: number;
  readonly streams: number;
}

export class CallTable {
  readonly #limits: CallTableLimits;
  /** Oldest first. */
  readonly #short = new Set<EvictableCall>();
  readonly #streams = new Set<EvictableCall>();

  constructor(limits: CallTableLimits) {
    this.#limits = limits;
  }

  add(call: EvictableCall): void {
    const [oldest] = this.#short;
    if (oldest && this.#short.size >= this.#limits.short) {
      this.#short.delete(oldest);
      oldest.evict();
    }
    this.#short.add(call);
  }

  /** Counts the call as a stream, once its request has arrived. Throws GrpcError when there are too many streams. */
  toStream(call: EvictableCall): void {
    if (this.#streams.size >= this.#limits.streams)
      throw new GrpcError(statusCode.RESOURCE_EXHAUSTED, `more than ${this.#limits.streams} streams at a time`);
    this.#short.delete(call);
    this.#streams.add(call);
  }

  remove(call: EvictableCall): void {
    this.#short.delete(call);
    this.#streams.delete(call);
  }
}
