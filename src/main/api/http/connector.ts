/**
 * Opens connections to the API server and destroys dead ones. A peer that vanished does not answer HTTP/2 pings, so nothing more arrives on
 * its socket (upstream: http2.Transport's ReadIdleTimeout and PingTimeout).
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { dnsResolutionDuration } from '../../../shared/metrics/definitions/rest-client.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';

/** The ping interval. Upstream's 30 s and 15 s detect a dead peer within 45 s; so do three of these intervals. */
export const pingIntervalMs = 15_000;
const unansweredPings = 3;
export const connectTimeoutMs = 10_000;
/** Upstream: net.Dialer's KeepAlive. */
const keepAliveMs = 30_000;

export interface PingOptions {
  readonly pingIntervalMs: number;
  /** Called for every connection with the negotiated protocol. */
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

/** Wraps a connector, also one through a proxy, so that its HTTP/2 connections are destroyed when the server stops answering pings. */
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

/** Destroys the socket when nothing was read from it for three pings. */
function destroyOnPingTimeout(socket: Socket, intervalMs: number): void {
  let lastBytesRead = socket.bytesRead;
  let silentIntervals = 0;
  const timer = setInterval(() => {
    silentIntervals = socket.bytesRead === lastBytesRead ? silentIntervals + 1 : 0;
    lastBytesRead = socket.bytesRead;
    // One interval more than the pings, because the first interval may have started just after an answered ping.
    if (silentIntervals > unansweredPings)
      socket.destroy(new Error(`no answer to HTTP/2 pings for ${(unansweredPings * intervalMs) / 1000} s`));
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
