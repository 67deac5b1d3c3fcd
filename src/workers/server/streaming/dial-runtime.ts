/** Asks the runtime's streaming server for the other protocol, with the URL that the runtime gave for this one stream. */
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

export type RuntimeResponse =
  /** It speaks the protocol from here on. `head`: what it has said already. */
  | { readonly upgraded: true; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer }
  | { readonly upgraded: false; readonly response: IncomingMessage };

export interface DialOptions {
  readonly url: string;
  readonly method: string;
  readonly headers: (host: string) => OutgoingHttpHeaders;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** The runtime may be at any address: it is trusted with that, as upstream does. Rejects when it can't be reached, or says nothing in time. */
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
    const late = setTimeout(() => request.destroy(new Error(`no answer from ${url.host} within ${deadlineMs} ms`)), deadlineMs);
    const answered = (answer: RuntimeResponse) => {
      clearTimeout(late);
      resolve(answer);
    };
    request.on('upgrade', (response, socket, head) => answered({ upgraded: true, response, socket, head }));
    request.on('response', (response) => answered({ upgraded: false, response }));
    request.on('error', (err) => {
      clearTimeout(late);
      fail(err);
    });
    request.end();
  });
}

/** Without a scheme it is HTTP. */
function parseUrl(text: string): URL | null {
  return URL.parse(text.startsWith('//') ? `http:${text}` : text);
}
