/**
 * The HTTP request of a lifecycle hook (upstream runHTTPHandler in pkg/kubelet/lifecycle/handlers.go). Any response is a success, whatever its status and whether its
 * body is complete. Only the signal ends the wait for a server.
 */
import { prepareGet, sendGet } from '../../../shared/http-get/http-get.ts';
import type { HttpGetTarget } from '../../../shared/http-get/request.ts';
import { plainHttpText } from '../../../shared/http-get/tls-error.ts';

/** Sends the request and discards the response. Rejects with Go's text when no response arrives, and with the signal's reason when it aborts. */
export type HttpGet = (target: HttpGetTarget, signal: AbortSignal) => Promise<void>;

export const httpGet: HttpGet = async (target, signal) => {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<void>();
  const running = sendGet(prepareGet(target), {
    onResponse: () => ended.resolve(),
    onFailure: ({ stage, message }) => (stage === 'body' ? ended.resolve() : ended.reject(new Error(message))),
  });
  const onAbort = () => {
    running.cancel();
    ended.reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort);
  try {
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** The request after an HTTPS request that got a plain HTTP response. A credential for TLS must not be sent in plain text. */
export function toPlainHttp(target: HttpGetTarget): HttpGetTarget {
  return { ...target, scheme: 'http', headers: target.headers.filter(({ name }) => name.toLowerCase() !== 'authorization') };
}

export function isPlainHttpResponse(err: unknown): boolean {
  return err instanceof Error && err.message.endsWith(plainHttpText);
}
