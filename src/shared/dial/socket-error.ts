/** Go's texts for the errors of a connection: `dial tcp 10.0.0.1:80: connect: connection refused`. */
import type { Socket } from 'node:net';
import { getSystemErrorMap } from 'node:util';

/** Go's net.JoinHostPort. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Local resources that ran out: not a fault of the container. */
const nodeErrors = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

export function isNodeError(err: unknown): boolean {
  return nodeErrors.has(socketErrorCode(err));
}

export function socketErrorCode(err: unknown): string {
  const { code } = err as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

/** Texts of errno in Linux that differ from libuv's (Go: syscall/zerrors_linux_amd64.go). */
const linuxTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'broken pipe',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files in system',
  EINVAL: 'invalid argument',
};
const uvTexts = new Map(getSystemErrorMap().values());

function errnoText(code: string, err: unknown): string {
  return linuxTexts[code] ?? uvTexts.get(code) ?? (err instanceof Error ? err.message : String(err));
}

/** An error before the connection is established. */
export function dialError(err: unknown, host: string, port: number): string {
  const code = socketErrorCode(err);
  return `dial tcp ${joinHostPort(host, port)}: connect: ${errnoText(code, err)}`;
}

/** Both ends of an established connection: `10.0.0.2:41234->10.0.0.1:80`. */
export function addressesOf({ localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${joinHostPort(localAddress, localPort)}->${joinHostPort(remoteAddress, remotePort)}`;
}

/** An error of an established connection. */
export function readError(err: unknown, addresses: string): string {
  const code = socketErrorCode(err);
  const call = code === 'EPIPE' ? 'write' : 'read';
  return `${call} tcp ${addresses}: ${call}: ${errnoText(code, err)}`;
}
