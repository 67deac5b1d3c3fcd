/** The process of a ProbeTarget (probe-target.ts): answers each connection with a fixed response, and records when each path was requested. */
import { createServer, type AddressInfo } from 'node:net';
import { monotonicMs } from '../../src/shared/time/clock.ts';

const response = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
let requests: [path: string, atMs: number][] = [];

// Without an HTTP parser: the target must leave the cores to what is measured.
const server = createServer((socket) => {
  const atMs = monotonicMs();
  socket.on('error', () => {});
  socket.once('data', (bytes: Buffer) => {
    requests.push([bytes.toString('latin1', 4, bytes.indexOf(32, 4)), atMs]);
    socket.end(response);
  });
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));

/** Sends the requests since the last message. */
process.on('message', () => {
  process.send!(requests);
  requests = [];
});
