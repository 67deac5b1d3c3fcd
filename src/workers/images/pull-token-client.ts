/** The client for main's service account tokens, over Comlink. Each call has a deadline, because main may be busy. */
import { wrap } from 'comlink';
import type { MessagePort } from 'node:worker_threads';
import type { PullTokenReply, PullTokenRequest, PullTokensApi } from '../../shared/contracts/credential-providers.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';

/** Main reads the service account and requests a token, each within ten seconds, and with retries of a new pod's token. */
const deadlineMs = 60_000;

/** The returned function rejects when main does not respond within the deadline. */
export function createPullTokenClient(port: MessagePort): (request: PullTokenRequest) => Promise<PullTokenReply> {
  const main = wrap<PullTokensApi>(endpoint(port));
  return (request) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the main thread did not answer within ${deadlineMs} ms`)), deadlineMs);
      main
        .pullToken(request)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
}
