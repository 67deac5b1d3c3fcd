/**
 * One of the runtime's two lists, whole, as bytes. In one reply while that fits into the 16 MiB that a CRI message may have; once
 * it did not, by the streaming call, where the runtime has it. A list that can't be had whole is an error, never a shorter list.
 */
import { isResourceExhausted, isUnimplemented } from '../../../shared/cri/cri-error.ts';
import { maxMessageBytes } from '../../../shared/cri/message-limit.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';

/** 200,000 containers; beyond it something is wrong, and memory would go. */
const maxStreamedBytes = 256 * 1024 * 1024;

export interface RawListOptions {
  /** `ListContainers`, `StreamContainers`: for errors and the log. */
  readonly list: string;
  readonly stream: string;
  readonly askOnce: (signal: AbortSignal) => Promise<Uint8Array>;
  readonly askStreamed: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly logger: Logger;
}

export class RawList {
  readonly #options: RawListOptions;
  #streamed = false;

  constructor(options: RawListOptions) {
    this.#options = options;
  }

  /** The list in one or several messages; their items are field 1 of each. Rejects with CriError or KubeletError. */
  async fetch(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { list, stream, askOnce, logger } = this.#options;
    if (this.#streamed) {
      try {
        return await this.#fetchStreamed(signal);
      } catch (err) {
        // Another runtime came back on the socket.
        if (!isUnimplemented(err)) throw err;
        this.#streamed = false;
      }
    }
    try {
      return [await askOnce(signal)];
    } catch (err) {
      if (!isResourceExhausted(err)) throw err;
      const tooLarge = `${list}: the reply is over the limit of ${maxMessageBytes} bytes for a message`;
      try {
        const messages = await this.#fetchStreamed(signal);
        this.#streamed = true;
        logger.warn({ list, stream, err }, 'a list of the runtime is over the message limit; asking for it as a stream from now on');
        return messages;
      } catch (streamErr) {
        const why = isUnimplemented(streamErr) ? `the runtime has no ${stream}` : messageOf(streamErr);
        throw new KubeletError('RuntimeListTooLarge', `${tooLarge}, and ${why}`, { cause: err });
      }
    }
  }

  async #fetchStreamed(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const messages: Uint8Array[] = [];
    let bytes = 0;
    for await (const message of this.#options.askStreamed(signal)) {
      bytes += message.length;
      if (bytes > maxStreamedBytes) {
        throw new KubeletError('RuntimeListTooLarge', `${this.#options.stream}: more than ${maxStreamedBytes} bytes`);
      }
      messages.push(message);
    }
    // An aborted stream ends like a whole one.
    signal.throwIfAborted();
    return messages;
  }
}
