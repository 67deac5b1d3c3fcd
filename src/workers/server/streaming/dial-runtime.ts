/** Sends an upgrade request to the runtime's streaming server, at the URL that the runtime returned for this stream. */
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

export type RuntimeResponse =
  /** `head` has the first bytes after the response. */
  | { readonly upgraded: true; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer }
  | { readonly upgraded: false; readonly response: IncomingMessage };

export interface DialOptions {
  readonly url: string;
  readonly method: string;
  readonly headers: (host: string) => OutgoingHttpHeaders;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/**
 * The URL may name any address; like upstream, the kubelet trusts the runtime. Rejects when the server can not be reached or does not
 * respond within the deadline.
 */
export function dialRuntime({ url: text, method, headers, deadlineMs, signal }: DialOptions): Promise<RuntimeResponse> {
  return new Promise((resolve, reject) => {
    const fail = (err: unknown) => reject(new Error(`error dialing backend: ${messageOf(err)}`, { cause: err }));
    const url = parseUrl(text);
    if (!url) return fail(new Error(`the runtime gave ${JSON.stringify(text)} as the URL of the stream`));
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return fail(new Error(`unknown scheme: ${url.protocol.slice(0, -1)}`));
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method,
      headers: headers(url.host),
      agent: false,
      signal,
    });
    const deadline = setTimeout(() => request.destroy(new Error(`no answer from ${url.host} within ${deadlineMs} ms`)), deadlineMs);
    const finish = (result: RuntimeResponse) => {
      clearTimeout(deadline);
      resolve(result);
    };
    request.on('upgrade', (response, socket, head) => finish({ upgraded: true, response, socket, head }));
    request.on('response', (response) => finish({ upgraded: false, response }));
    request.on('error', (err) => {
      clearTimeout(deadline);
      fail(err);
    });
    request.end();
  });
}

/** A URL without a scheme is an HTTP URL. */
function parseUrl(text: string): URL | null {
  return URL.parse(text.startsWith('//') ? `http:${text}` : text);
}
