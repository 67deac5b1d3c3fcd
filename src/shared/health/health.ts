/**
 * Whether the kubelet is well, from every thread's life signs. Pure: the heartbeats and the time in, checks out. A thread is well when
 * it is alive, has beaten lately, and its own loop (main's sync loop, the pleg's relists) came round in its time.
 */
import type { ThreadHealth } from '../state/heartbeats.ts';

export interface HealthCheck {
  /** What `/healthz/<name>` asks for. */
  readonly name: string;
  /** Empty: it is well. */
  readonly fault: string;
  /** For people who ask for everything: deaths that were made good. */
  readonly note: string;
}

/** Ten beats missed. Less would blame a thread for a busy host. */
const staleBeatMs = 10_000;
const pool = 'pod-sync';

/** Checks as upstream names them first (ping, log, syncloop), then one for each thread, and one for the sync pool as a whole. */
export function healthChecks(threads: readonly ThreadHealth[], nowMs: number, logFault: string): HealthCheck[] {
  const single = threads.filter(({ thread }) => !thread.startsWith(pool));
  const main = threads.find(({ thread }) => thread === 'main');
  return [
    { name: 'ping', fault: '', note: '' },
    { name: 'log', fault: logFault, note: '' },
    { name: 'syncloop', fault: main && isLoopStale(main, nowMs) ? 'sync Loop took longer than expected' : '', note: '' },
    ...single.map((thread) => ({ name: `thread-${thread.thread}`, fault: threadFault(thread, nowMs), note: noteOf([thread]) })),
    ...poolCheck(
      threads.filter(({ thread }) => thread.startsWith(pool)),
      nowMs,
    ),
  ];
}

/** Whether one thread is well; what is wrong with it, if not. */
export function threadFault(thread: ThreadHealth, nowMs: number): string {
  const { starts, alive, beat, startedAtMs } = thread;
  const name = `thread ${thread.thread}`;
  if (starts === 0) return '';
  if (alive === 0) return `${name} is down, its last exit code was ${thread.lastExitCode}${thread.lastError && `: ${thread.lastError}`}`;
  const silentMs = nowMs - (beat?.beatAtMs ?? startedAtMs);
  if (silentMs > staleBeatMs) return `${name} has not been heard of for ${seconds(silentMs)}`;
  // Main's loop has a check of its own, under upstream's name.
  if (thread.thread !== 'main' && beat && isLoopStale(thread, nowMs)) {
    return `${thread.thread} was last seen active ${seconds(nowMs - beat.loopAtMs)} ago; threshold is ${seconds(thread.loopStaleAfterMs)}`;
  }
  return '';
}

/** The pool is well while one of its threads is, and none of those that live is silent: a dead one is replaced, in another place. */
function poolCheck(threads: readonly ThreadHealth[], nowMs: number): HealthCheck[] {
  if (threads.every(({ starts }) => starts === 0)) return [];
  const alive = threads.filter((thread) => thread.alive === 1);
  const fault =
    alive.length === 0 ? `thread ${pool}: none of its threads is alive` : alive.map((thread) => threadFault(thread, nowMs)).find(Boolean);
  return [{ name: `thread-${pool}`, fault: fault ?? '', note: noteOf(threads) }];
}

function isLoopStale({ beat, loopStaleAfterMs }: ThreadHealth, nowMs: number): boolean {
  return beat !== undefined && loopStaleAfterMs > 0 && beat.loopAtMs > 0 && nowMs - beat.loopAtMs > loopStaleAfterMs;
}

function noteOf(threads: readonly ThreadHealth[]): string {
  const deaths = threads.reduce((sum, thread) => sum + thread.deaths, 0);
  const last = threads.findLast((thread) => thread.deaths > 0);
  return deaths === 0 ? '' : `died ${deaths} times, last with exit code ${last?.lastExitCode}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
