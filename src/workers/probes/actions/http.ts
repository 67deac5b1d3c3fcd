/** An HTTP probe: a GET whose status is the result (upstream DoHTTPProbe in pkg/probe/http/http.go). */
import type { OnSpent } from '../../../shared/dial/watched-connection.ts';
import { prepareGet, sendGet, type HttpGetFailure, type HttpGetResponse, type PreparedGet } from '../../../shared/http-get/http-get.ts';
import type { ActionOf, Attempt, AttemptResult, OnAttemptDone } from './attempt.ts';
import { success } from './attempt.ts';

/** The prepared requests, by action: a probe sends the same request each time. */
const prepared = new WeakMap<ActionOf<'http'>, PreparedGet>();

/** Upstream: the transport's default (SetTransportDefaults). Matters only to probes with a longer timeout. */
const tlsHandshakeTimeoutMs = 10_000;

export function startHTTP(action: ActionOf<'http'>, done: OnAttemptDone, onSpent?: OnSpent): Attempt {
  let get = prepared.get(action);
  if (!get) {
    get = prepareGet(action);
    prepared.set(action, get);
  }
  return sendGet(get, {
    onResponse: (response) => done(responseResult(response)),
    onFailure: (failure) => done(failureResult(failure)),
    tlsHandshakeTimeoutMs,
    offersHttp2: true,
    onSpent,
  });
}

function responseResult({ statusCode, bodyText }: HttpGetResponse): AttemptResult {
  if (statusCode >= 200 && statusCode < 300) return success;
  if (statusCode >= 300 && statusCode < 400)
    return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${bodyText}` };
  return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
}

function failureResult({ stage, message, doubt }: HttpGetFailure): AttemptResult {
  const outcome = stage === 'fault' ? 'unknown' : 'failure';
  return { outcome, output: message, ...(stage !== 'request' && { isError: true }), ...(doubt && { doubt }) };
}
