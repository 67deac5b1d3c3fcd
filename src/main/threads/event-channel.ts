/** Events from a thread to main: a port that is made anew at each birth, and one handler for all of them. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { contain } from '../../shared/errors/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';

export class EventChannel<Message> {
  readonly #handle: (message: Message) => void;
  readonly #logger: Logger;
  #port: MessagePort | null = null;

  constructor(handle: (message: Message) => void, logger: Logger) {
    this.#handle = handle;
    this.#logger = logger;
  }

  /** The thread's end, to be transferred to it. What a dead predecessor posted before is still delivered, before the new thread's. */
  open(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const fault = { handler: 'thread events', logger: this.#logger };
    port1.on('message', (message: Message) => contain(fault, () => this.#handle(message)));
    port1.on('messageerror', (err) => this.#logger.error({ err }, 'an event of a thread could not be read and is lost'));
    this.#port = port1;
    return port2;
  }

  close(): void {
    this.#port?.close();
    this.#port = null;
  }
}
