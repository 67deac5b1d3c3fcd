/** Notifications from a thread to main: a new port at each start of the thread, with one handler for all of them. */
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
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
    receiveMessages(port1, this.#logger, this.#handle);
    this.#port = port1;
    return port2;
  }

  close(): void {
    this.#port?.close();
    this.#port = null;
  }
}

/** Calls the handler with each message of the thread. A handler that throws costs one message. */
export function receiveMessages<Message>(port: MessagePort | Worker, logger: Logger, handle: (message: Message) => void): void {
  const fault = { handler: 'thread events', logger };
  port.on('message', (message: Message) => contain(fault, () => handle(message)));
  port.on('messageerror', (err) => logger.error({ err }, 'A notification of a thread could not be deserialized and is lost'));
}
