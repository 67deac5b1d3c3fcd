/**
 * The process of a Flood (flood.ts): unauthenticated clients that make the most expensive requests to a kubelet's secure port. Some
 * connections stay open after a 401 and are reopened when they are closed. Others pipeline requests with large headers and random tokens.
 */
import { randomBytes } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import type { FloodCounts, FloodOptions } from './flood.ts';

const { port, idle, pipelining } = JSON.parse(process.argv[2]!) as FloodOptions;
const reconnectMs = 1_000;
const filler = 'x'.repeat(60_000);
const counts: FloodCounts = { opened: 0, closed: 0, responses: 0, open: 0 };

function open(onSecure: (socket: TLSSocket) => void, onEnded: () => void): void {
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
    counts.opened += 1;
    counts.open += 1;
    socket.once('close', () => {
      counts.closed += 1;
      counts.open -= 1;
    });
    onSecure(socket);
  });
  socket.on('data', () => (counts.responses += 1));
  socket.on('error', () => {});
  socket.once('close', onEnded);
}

function openIdle(): void {
  open(
    (socket) => socket.write('GET /pods HTTP/1.1\r\nHost: node\r\n\r\n'),
    () => setTimeout(openIdle, reconnectMs),
  );
}

function openPipelining(): void {
  open(
    (socket) => {
      const write = () => {
        while (!socket.destroyed) {
          const token = randomBytes(24).toString('base64url');
          if (!socket.write(`GET /pods HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer ${token}\r\nX-Filler: ${filler}\r\n\r\n`)) return;
        }
      };
      socket.on('drain', write);
      write();
    },
    () => setImmediate(openPipelining),
  );
}

for (let client = 0; client < idle; client += 1) openIdle();
for (let client = 0; client < pipelining; client += 1) openPipelining();
process.on('message', () => process.send!(counts));
// Ends with the benchmark's process.
process.on('disconnect', () => process.exit());
