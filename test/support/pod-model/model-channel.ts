/** A message channel whose messages arrive in the next iteration of the event loop, so that a history runs the same each time. */
import { EventEmitter } from 'node:events';
import type { MessageChannel, MessagePort } from 'node:worker_threads';

class ModelPort extends EventEmitter {
  peer: ModelPort | null = null;

  postMessage(message: unknown): void {
    const copy = structuredClone(message);
    setImmediate(() => this.peer?.emit('message', copy));
  }

  close(): void {
    const { peer } = this;
    this.peer = null;
    if (!peer) return;
    setImmediate(() => {
      this.emit('close');
      peer.peer = null;
      peer.emit('close');
    });
  }
}

export function modelChannel(): MessageChannel {
  const [port1, port2] = [new ModelPort(), new ModelPort()];
  port1.peer = port2;
  port2.peer = port1;
  return { port1: port1 as unknown as MessagePort, port2: port2 as unknown as MessagePort };
}
