/**
 * Computes the health checks from the heartbeats of all threads. Pure. A thread is healthy when it is alive, its last heartbeat is recent, and so is the last
 * iteration of its own loop (main: the sync loop; pleg: the relist), unless the loop waits for the runtime, within the deadline of its calls.
 */
import type { ThreadHealth } from '../state/heartbeats.ts';

export interface HealthCheck {
  /** The name in `/healthz/<name>`. */
  readonly name: string;
  /** Empty when healthy. */
  readonly fault: string;
  /** For the verbose page: how often the thread has died. */
  readonly note: string;
}

/** Ten missed heartbeats. On a busy host a healthy thread may miss some. */
const staleBeatMs = 10_000;
/** The name of the sync pool. The names of its threads begin with it. */
const pool = 'pod-sync';

/** Returns first the checks with upstream's names (ping, log, syncloop), then one for each thread, and one for the whole sync pool. */
export function healthChecks(threads: readonly ThreadHealth[], nowMs: number, logFault: string): HealthCheck[] {
  const singleThreads = threads.filter(({ thread }) => !thread.startsWith(pool));
  const main = threads.find(({ thread }) => thread === 'main');
  return [
    { name: 'ping', fault: '', note: '' },
    { name: 'log', fault: logFault, note: '' },
    { name: 'syncloop', fault: main && isLoopStale(main, nowMs) ? 'sync Loop took longer than expected' : '', note: '' },
    ...singleThreads.map((thread) => ({ name: `thread-${thread.thread}`, fault: threadFault(thread, nowMs), note: deathsNote([thread]) })),
    ...poolCheck(
      threads.filter(({ thread }) => thread.startsWith(pool)),
      nowMs,
    ),
  ];
}

/** Returns what is wrong with a thread. Empty when the thread is healthy, or was never started. */
export function threadFault(thread: ThreadHealth, nowMs: number): string {
  const { starts, alive, beat, startedAtMs } = thread;
  const name = `thread ${thread.thread}`;
  if (starts === 0) return '';
  if (alive === 0) return `${name} is down, its last exit code was ${thread.lastExitCode}${thread.lastError && `: ${thread.lastError}`}`;
  const silentMs = nowMs - (beat?.beatAtMs ?? startedAtMs);
  if (silentMs > staleBeatMs) return `${name} has had no heartbeat for ${seconds(silentMs)}`;
  // The check `syncloop` covers main's loop.
  if (thread.thread !== 'main' && beat && isLoopStale(thread, nowMs)) {
    return `${thread.thread} was last seen active ${seconds(nowMs - beat.loopAtMs)} ago; threshold is ${seconds(thread.loopStaleAfterMs)}`;
  }
  return '';
}

/** The pool is healthy while at least one of its threads is alive and all alive threads are healthy. A dead thread is replaced, in another slot. */
function poolCheck(threads: readonly ThreadHealth[], nowMs: number): HealthCheck[] {
  if (threads.every(({ starts }) => starts === 0)) return [];
  const alive = threads.filter((thread) => thread.alive === 1);
  const fault =
    alive.length === 0 ? `thread ${pool}: none of its threads is alive` : alive.map((thread) => threadFault(thread, nowMs)).find(Boolean);
  return [{ name: `thread-${pool}`, fault: fault ?? '', note: deathsNote(threads) }];
}

function isLoopStale({ beat, loopStaleAfterMs }: ThreadHealth, nowMs: number): boolean {
  // An outage of the runtime makes the node not ready. A restart of the kubelet, which a failed check would cause, does not end it.
  if (beat === undefined || nowMs <= beat.waitsUntilMs) return false;
  return loopStaleAfterMs > 0 && beat.loopAtMs > 0 && nowMs - beat.loopAtMs > loopStaleAfterMs;
}

function deathsNote(threads: readonly ThreadHealth[]): string {
  const deaths = threads.reduce((sum, thread) => sum + thread.deaths, 0);
  const lastDeath = threads.findLast((thread) => thread.deaths > 0);
  return deaths === 0 ? '' : `died ${deaths} times, last with exit code ${lastDeath?.lastExitCode}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
