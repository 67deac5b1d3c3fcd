/**
 * What only main knows, asked over Comlink: within a deadline, bounded in number, and what is the same for all who ask only once for
 * those who ask at the same time. Main may be busy; the clients of a server must not pile up copies of its answer.
 */
import { wrap } from 'comlink';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { ResolvedContainer, MainApi } from '../../shared/contracts/server/calls.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';

const deadlineMs = 10_000;
/** Upstream's bound on a shared lookup of a token (sharedLookupTimeout): main tries again within it. */
const reviewDeadlineMs = 30_000;
/** A bound, not a target: as many as there may be connections. */
const maxUnderWay = 1024;

/** The same calls, each with a deadline. Rejects when main does not answer, and when too many wait for it already. */
export function createMainClient(port: MessagePort): MainApi {
  const main = wrap<MainApi>(endpoint(port));
  let underWay = 0;
  const bounded = async <T>(name: string, ask: () => Promise<T>, withinMs = deadlineMs): Promise<T> => {
    if (underWay >= maxUnderWay) throw new Error(`too many questions to the main thread are under way to ask "${name}"`);
    underWay += 1;
    try {
      return await withDeadline(name, ask(), withinMs);
    } finally {
      underWay -= 1;
    }
  };
  return {
    pods: shared(() => bounded('pods', () => main.pods())),
    runningPods: shared(() => bounded('runningPods', () => main.runningPods())),
    configz: shared(() => bounded('configz', () => main.configz())),
    flagz: shared(() => bounded('flagz', () => main.flagz())),
    resetHealthMetrics: shared(() => bounded('resetHealthMetrics', () => main.resetHealthMetrics())),
    reviewToken: (token) => bounded('reviewToken', () => main.reviewToken(token), reviewDeadlineMs),
    reviewAccess: (spec) => bounded('reviewAccess', () => main.reviewAccess(spec), reviewDeadlineMs),
    resolveContainer: (query) => bounded<ResolvedContainer>('resolveContainer', async () => main.resolveContainer(query)),
  };
}

function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= ask().finally(() => (underWay = null));
    return underWay;
  };
}

async function withDeadline<T>(name: string, answer: Promise<T>, withinMs: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(withinMs, undefined, { signal: done.signal }).then((): never => {
    throw new Error(`the main thread did not answer "${name}" within ${withinMs} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    done.abort();
  }
}
