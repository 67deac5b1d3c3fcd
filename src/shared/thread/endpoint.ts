/** Comlink over Node's ports. Its adapter is a CommonJS module whose types promise a `default` that is not there. */
import type { Endpoint } from 'comlink';
import * as adapter from 'comlink/dist/umd/node-adapter.js';
import type { MessagePort, Worker } from 'node:worker_threads';

const nodeEndpoint = adapter.default as unknown as (port: MessagePort | Worker) => Endpoint;

/** What `wrap` and `expose` of Comlink take, for a port, or for a worker's own channel. */
export function endpoint(port: MessagePort | Worker): Endpoint {
  return nodeEndpoint(port);
}
