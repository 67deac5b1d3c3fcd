/**
 * Fetches one of the runtime's two lists as bytes. The list comes in one reply while it fits in 16 MiB, the limit of CRI messages. Above
 * this limit, the streaming call replaces the unary call where the runtime supports it, and else several calls with filters. An incomplete
 * list is an error, never a shorter list.
 */
import { isResourceExhausted, isUnimplemented } from '../../../shared/cri/cri-error.ts';
import { maxMessageBytes } from '../../../shared/cri/message-limit.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';

/** The size of 200,000 containers. A larger list indicates a fault and would exhaust the memory. */
const maxStreamedBytes = 256 * 1024 * 1024;
/**
 * How many lists come in portions before the whole list is tried again: some minutes, at one list a second. The runtime spends as much on a list that fails
 * because of its size as on one that fits.
 */
const listsInPortions = 300;

export interface RawListOptions {
  /** The names of the calls, for errors and the log: `ListContainers`, `StreamContainers`. */
  readonly listCall: string;
  readonly streamCall: string;
  readonly fetchUnary: (signal: AbortSignal) => Promise<Uint8Array>;
  readonly fetchStream: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  /** Lists by filters that together match every item that exists during all calls. An item may come twice: the later one is newer. */
  readonly fetchPortions: (signal: AbortSignal) => Promise<readonly Uint8Array[]>;
  readonly logger: Logger;
}

export class RawList {
  readonly #options: RawListOptions;
  /** The list is too long for one reply, and the runtime has the streaming call. */
  #usesStream = false;
  /** How many of the next lists come in portions, before the list is tried in one reply again. */
  #portionedListsLeft = 0;

  constructor(options: RawListOptions) {
    this.#options = options;
  }

  /** Resolves with one or several messages, whose items are field 1. Rejects with CriError or KubeletError. */
  async fetch(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { listCall, streamCall, fetchUnary, fetchPortions, logger } = this.#options;
    if (this.#portionedListsLeft > 0) {
      this.#portionedListsLeft -= 1;
      return this.#bounded(await fetchPortions(signal));
    }
    if (this.#usesStream) {
      try {
        return await this.#fetchStreamed(signal);
      } catch (err) {
        // A runtime without the streaming call now serves the socket.
        if (!isUnimplemented(err)) throw err;
        this.#usesStream = false;
      }
    }
    try {
      return [await fetchUnary(signal)];
    } catch (err) {
      if (!isResourceExhausted(err)) throw err;
      const limitError = `${listCall}: the reply is over the limit of ${maxMessageBytes} bytes for a message`;
      try {
        const messages = await this.#fetchStreamed(signal);
        this.#usesStream = true;
        logger.warn(
          { list: listCall, stream: streamCall, err },
          'A list of the runtime exceeds the message limit, using the streaming call',
        );
        return messages;
      } catch (streamErr) {
        if (!isUnimplemented(streamErr))
          throw new KubeletError('RuntimeListTooLarge', `${limitError}, and ${messageOf(streamErr)}`, { cause: err });
      }
      const portions = await fetchPortions(signal).catch((portionErr: unknown) => {
        throw new KubeletError('RuntimeListTooLarge', `${limitError}, and in portions: ${messageOf(portionErr)}`, { cause: err });
      });
      this.#portionedListsLeft = listsInPortions;
      logger.warn({ list: listCall, err }, 'A list of the runtime exceeds the message limit, and comes in portions');
      return this.#bounded(portions);
    }
  }

  #bounded(messages: readonly Uint8Array[]): readonly Uint8Array[] {
    if (messages.reduce((sum, { length }) => sum + length, 0) <= maxStreamedBytes) return messages;
    throw new KubeletError('RuntimeListTooLarge', `${this.#options.listCall}: more than ${maxStreamedBytes} bytes`);
  }

  async #fetchStreamed(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const messages: Uint8Array[] = [];
    let bytes = 0;
    for await (const message of this.#options.fetchStream(signal)) {
      bytes += message.length;
      if (bytes > maxStreamedBytes) {
        throw new KubeletError('RuntimeListTooLarge', `${this.#options.streamCall}: more than ${maxStreamedBytes} bytes`);
      }
      messages.push(message);
    }
    // An aborted stream ends like a complete one.
    signal.throwIfAborted();
    return messages;
  }
}
