/** Converts a call to an HTTP request: prefixes the server's path, encodes the query and the body, adds headers. */
import type { ApiCall } from '../api-client.ts';
import type { Impersonation } from '../kubeconfig/kubeconfig.ts';
import { impersonationHeaders } from '../identity/impersonation.ts';
import type { Identity } from '../identity/identity.ts';
import { acceptEncodingHeaders } from './decompress.ts';
import type { WireCodec } from './wire-codec.ts';
import type { WireRequest } from './request-attempt.ts';

export interface RequestDefaults {
  readonly server: URL;
  readonly userAgent: string;
  readonly impersonate: Impersonation | null;
  readonly codec: WireCodec;
}

type RequestedCall = Pick<ApiCall, 'method' | 'path' | 'query' | 'body' | 'patch' | 'answer'>;

export function toWireRequest(call: RequestedCall, identity: Identity, defaults: RequestDefaults): WireRequest {
  const { server, codec } = defaults;
  const accept = call.answer === 'metadata' ? codec.acceptMetadata : codec.accept;
  const headers = ['accept', accept, 'user-agent', defaults.userAgent, ...impersonationHeaders(defaults.impersonate).flat()];
  if (call.method === 'GET') headers.push(...acceptEncodingHeaders);
  if (identity.authorization !== undefined) headers.push('authorization', identity.authorization);
  const body = call.body === undefined ? null : codec.encode(call.body);
  if (body !== null) headers.push('content-type', codec.contentType(call.patch));
  return {
    name: { method: call.method, path: call.path },
    origin: server.origin,
    path: `${server.pathname.replace(/\/$/, '')}${call.path}${queryOf(call.query)}`,
    method: call.method,
    headers,
    body,
  };
}

function queryOf(query: ApiCall['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}
