/** Parses the query of a streaming request. Upstream: remotecommand.NewOptions and portforward.NewV4Options of k8s.io/cri-streaming. */
import type { IncomingHttpHeaders } from 'node:http';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Returns a string for an invalid query: the error message. */
export function parseRemoteCommandOptions(query: URLSearchParams): RemoteCommandOptions | string {
  const isSet = (name: string) => query.get(name) === '1';
  const tty = isSet('tty');
  // A terminal has one output stream.
  const options = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty };
  if (!options.stdin && !options.stdout && !options.stderr) return 'you must specify at least 1 of stdin, stdout, stderr';
  return options;
}

/** Returns the ports of a WebSocket client; SPDY clients name them per stream. Returns a string for an invalid query: the error message. */
export function parsePortForwardPorts(headers: IncomingHttpHeaders, query: URLSearchParams): readonly number[] | string {
  if (!isWebSocketRequest(headers)) return [];
  const portTexts = query.getAll('port');
  if (portTexts.length === 0) return 'query parameter "port" is required';
  const ports: number[] = [];
  for (const text of portTexts) {
    if (text === '') return 'query parameter "port" cannot be empty';
    for (const part of text.split(',')) {
      const wrong = /^\d+$/.test(part) ? Number(part) > 65_535 && 'value out of range' : 'invalid syntax';
      if (wrong) return `unable to parse ${goQuote(text)} as a port: strconv.ParseUint: parsing ${goQuote(part)}: ${wrong}`;
      if (Number(part) < 1) return `port ${goQuote(text)} must be > 0`;
      ports.push(Number(part));
    }
  }
  return ports;
}

export function isWebSocketRequest(headers: IncomingHttpHeaders): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && isUpgradeRequest(headers);
}

/** Upstream: httpstream.IsUpgradeRequest. */
export function isUpgradeRequest({ connection }: IncomingHttpHeaders): boolean {
  return connection?.toLowerCase().includes('upgrade') ?? false;
}
