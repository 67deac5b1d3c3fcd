/**
 * What only main knows, asked over Comlink: within a deadline, and once for all who ask at the same time. Main may be busy; the
 * clients of a server must not pile up copies of its answer.
 */
import { wrap } from 'comlink';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { ServerUpcalls } from '../../shared/contracts/server.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';

const deadlineMs = 10_000;

/** The same calls, each with a deadline, shared by those who ask while one is under way. Rejects when main does not answer. */
export function boundedUpcalls(port: MessagePort): ServerUpcalls {
  const main = wrap<ServerUpcalls>(endpoint(port));
  return {
    pods: shared('pods', () => main.pods()),
    configz: shared('configz', () => main.configz()),
  };
}

function shared<T>(name: string, ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= withDeadline(name, ask()).finally(() => (underWay = null));
    return underWay;
  };
}

async function withDeadline<T>(name: string, answer: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = sleep(deadlineMs, undefined, { signal: done.signal }).then((): never => {
    throw new Error(`the main thread did not answer "${name}" within ${deadlineMs} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    done.abort();
  }
}
