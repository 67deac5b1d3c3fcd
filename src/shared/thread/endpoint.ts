/** Comlink over Node's ports. Comlink's adapter is a CommonJS module whose types declare the wrong default export. */
import type { Endpoint } from 'comlink';
import * as adapter from 'comlink/dist/umd/node-adapter.js';
import type { MessagePort, Worker } from 'node:worker_threads';

const nodeEndpoint = adapter.default as unknown as (port: MessagePort | Worker) => Endpoint;

/** The endpoint for Comlink's `wrap` and `expose`. */
export function endpoint(port: MessagePort | Worker): Endpoint {
  return nodeEndpoint(port);
}
