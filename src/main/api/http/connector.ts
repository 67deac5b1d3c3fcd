/**
 * How connections to the API server are made, and how dead ones are noticed: a peer that vanished without a word answers no HTTP/2 ping,
 * so nothing more is read from its socket (upstream: http2.Transport's ReadIdleTimeout and PingTimeout).
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { dnsResolutionDuration } from '../../../shared/metrics/definitions/rest-client.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';

/** How often a ping is sent. Upstream's 30 s and 15 s notice a dead peer after 45 s at the latest, and so do three of these. */
export const pingIntervalMs = 15_000;
const unansweredPings = 3;
export const connectTimeoutMs = 10_000;
/** Upstream: net.Dialer's KeepAlive. */
const keepAliveMs = 30_000;

export interface PingOptions {
  readonly pingIntervalMs: number;
  /** Called with what was agreed on with the server, for every connection. */
  readonly onConnected: (protocol: 'h2' | 'http/1.1') => void;
}

export interface ConnectorOptions extends PingOptions {
  readonly tls: ConnectionOptions;
  readonly allowHTTP2: boolean;
}

export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    ...options.tls,
    allowH2: options.allowHTTP2,
    preferH2: options.allowHTTP2,
    timeout: connectTimeoutMs,
    keepAliveInitialDelay: keepAliveMs,
    lookup: timedLookup,
  });
  return withPingTimeout(connect, options);
}

/** The connector's connections, also those through a proxy, ended when the server at their other end is silent. */
export function withPingTimeout(
  connect: buildConnector.connector,
  { pingIntervalMs: intervalMs, onConnected }: PingOptions,
): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result;
      if (socket) {
        const isHTTP2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
        if (isHTTP2) destroyOnPingTimeout(socket, intervalMs);
        onConnected(isHTTP2 ? 'h2' : 'http/1.1');
      }
      callback(...result);
    });
}

/** Ends the socket when nothing was read from it for three pings. */
function destroyOnPingTimeout(socket: Socket, intervalMs: number): void {
  let read = socket.bytesRead;
  let silent = 0;
  const timer = setInterval(() => {
    silent = socket.bytesRead === read ? silent + 1 : 0;
    read = socket.bytesRead;
    // One more than the pings: the first interval may have begun just after one was answered.
    if (silent > unansweredPings) socket.destroy(new Error(`no answer to HTTP/2 pings for ${(unansweredPings * intervalMs) / 1000} s`));
  }, intervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}

function timedLookup(
  hostname: string,
  options: LookupOptions,
  callback: (err: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
): void {
  const start = monotonicMs();
  lookup(hostname, options, (err, address, family) => {
    dnsResolutionDuration.observe((monotonicMs() - start) / 1000, { host: hostname });
    callback(err, address, family);
  });
}
