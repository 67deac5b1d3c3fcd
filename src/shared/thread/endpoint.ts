/** Comlink over Node's ports. Comlink's adapter is a CommonJS module whose types declare the wrong default export. */
import { transfer, type Endpoint } from 'comlink';
import * as adapter from 'comlink/dist/umd/node-adapter.js';
import type { MessagePort, Worker } from 'node:worker_threads';

const nodeEndpoint = adapter.default as unknown as (port: MessagePort | Worker) => Endpoint;

/** The endpoint for Comlink's `wrap` and `expose`. */
export function endpoint(port: MessagePort | Worker): Endpoint {
  return nodeEndpoint(port);
}

/** Marks a reply's bytes for transfer: the receiver owns them afterwards, and they are not copied. The array must be alone in its buffer. */
export function transferBytes(bytes: Uint8Array): Uint8Array {
  return transfer(bytes, [bytes.buffer as ArrayBuffer]);
}
