/**
 * Computes which threads make the node not ready. Pure. Upstream has one such check, for the PLEG. Here every thread that pods depend on has
 * one. The server, stats and images threads have none: pods keep running without them, whereas a node that is not ready loses its pods.
 */
import { goDuration } from '../../../shared/kubernetes/go-text.ts';
import type { ThreadHealth } from '../../../shared/state/heartbeats.ts';

/** A thread that exited is restarted within seconds. A thread without a heartbeat for this long has not recovered. */
const heartbeatTimeoutMs = 60_000;
const requiredThreads = ['pleg', 'probes', 'pod-sync'];

/**
 * Returns one sentence per unhealthy thread.
 * @param nowMs monotonic
 */
export function threadErrors(threads: readonly ThreadHealth[], nowMs: number): string[] {
  const started = threads.filter(({ starts }) => starts > 0);
  const pleg = started.find(({ thread }) => thread === 'pleg');
  const relistError = pleg && plegError(pleg, nowMs);
  return [
    ...(relistError === undefined ? [] : [`PLEG is not healthy: ${relistError}`]),
    ...requiredThreads.flatMap((name) => {
      // The sync pool has several threads. One healthy thread is enough.
      const group = started.filter(({ thread }) => thread === name || thread.startsWith(`${name}-`));
      const silentMs = Math.min(...group.map(({ beat, startedAtMs }) => nowMs - (beat?.beatAtMs ?? startedAtMs)));
      if (group.length === 0 || silentMs <= heartbeatTimeoutMs) return [];
      return [`thread ${name} is not healthy: last heard of ${goDuration(Math.floor(silentMs))} ago`];
    }),
  ];
}

/** Returns upstream's message. A restarted pleg thread gets the time of a first relist. `loopStaleAfterMs` 0: not checked. */
function plegError({ beat, starts, startedAtMs, loopStaleAfterMs }: ThreadHealth, nowMs: number): string | undefined {
  const relistedAtMs = beat?.loopAtMs ?? 0;
  if (relistedAtMs === 0 && starts === 1) return 'pleg has yet to be successful';
  const elapsedMs = Math.floor(nowMs - (relistedAtMs || startedAtMs));
  if (loopStaleAfterMs === 0 || elapsedMs <= loopStaleAfterMs) return undefined;
  return `pleg was last seen active ${goDuration(elapsedMs)} ago; threshold is ${goDuration(loopStaleAfterMs)}`;
}
