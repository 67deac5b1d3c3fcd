/**
 * The calls in progress of one server. A new call always finds a place among those that are short: the oldest one ends for it, which is one whose
 * client does not send or does not read. Streams may last, so they are refused when there are too many.
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

  /** Called when the request of a stream has arrived. Throws GrpcError when there is no place. */
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
