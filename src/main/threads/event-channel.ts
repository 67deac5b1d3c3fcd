/** Notifications from a thread to main: a new port at each start of the thread, with one handler for all of them. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { contain } from '../../shared/faults/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';

export class EventChannel<Message> {
  readonly #handle: (message: Message) => void;
  readonly #logger: Logger;
  #port: MessagePort | null = null;

  constructor(handle: (message: Message) => void, logger: Logger) {
    this.#handle = handle;
    this.#logger = logger;
  }

  /** Returns the port for a new worker. Messages of a dead predecessor are still delivered, before those of the new worker. */
  open(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const fault = { handler: 'thread events', logger: this.#logger };
    port1.on('message', (message: Message) => contain(fault, () => this.#handle(message)));
    port1.on('messageerror', (err) => this.#logger.error({ err }, 'A notification of a thread could not be deserialized and is lost'));
    this.#port = port1;
    return port2;
  }

  close(): void {
    this.#port?.close();
    this.#port = null;
  }
}
