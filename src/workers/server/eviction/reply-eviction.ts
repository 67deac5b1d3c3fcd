/** Answers a request for what the eviction manager would do now, an EvictionPlan. Used by the authenticated port and by the local socket. */
import { evictionSignals, type EvictionSignal } from '../../../shared/contracts/eviction.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { accepts, error, methodNotAllowed, notAcceptable, ok, type Reply } from '../../../shared/http/reply.ts';

export interface EvictionRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

/** With `signal=<signal>`, the plan has the order of pods for that signal. */
export async function replyEviction(
  getPlan: (signal: EvictionSignal | null) => Promise<string>,
  { method, query, accept }: EvictionRequest,
): Promise<Reply> {
  if (method !== 'GET') return methodNotAllowed('GET');
  if (!accepts(accept, 'application/json')) return notAcceptable('application/json');
  const requested = query.get('signal');
  const signal = evictionSignals.find((name) => name === requested) ?? null;
  if (requested !== null && signal === null) return error(400, 'signal must be an eviction signal, such as memory.available');
  try {
    return ok(await getPlan(signal), 'application/json');
  } catch (err) {
    return error(500, messageOf(err));
  }
}
