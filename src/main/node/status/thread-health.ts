/**
 * Which threads keep the node from being ready. Pure. Upstream knows one such check, the pleg's; here whoever a pod's life depends on has
 * one. The server and the stats threads have none: without them pods live on, and a node that is not ready loses its pods.
 */
import { goDuration } from '../../../shared/kubernetes/go-text.ts';
import type { ThreadHealth } from '../../../shared/state/heartbeats.ts';

/** A thread that died is there again within a second, or some; one that was silent for so long does not come back by itself. */
const heartbeatTimeoutMs = 60_000;
const requiredThreads = ['pleg', 'images', 'probes', 'pod-sync'];

/** @param nowMs monotonic. A sentence for each that is not well. */
export function threadErrors(threads: readonly ThreadHealth[], nowMs: number): string[] {
  const started = threads.filter(({ starts }) => starts > 0);
  const pleg = started.find(({ thread }) => thread === 'pleg');
  const relistError = pleg && plegError(pleg, nowMs);
  return [
    ...(relistError === undefined ? [] : [`PLEG is not healthy: ${relistError}`]),
    ...requiredThreads.flatMap((name) => {
      // The sync pool has many, of which one is enough.
      const group = started.filter(({ thread }) => thread === name || thread.startsWith(`${name}-`));
      const silence = Math.min(...group.map(({ beat, startedAtMs }) => nowMs - (beat?.beatAtMs ?? startedAtMs)));
      if (group.length === 0 || silence <= heartbeatTimeoutMs) return [];
      return [`thread ${name} is not healthy: last heard of ${goDuration(Math.floor(silence))} ago`];
    }),
  ];
}

/** In upstream's words. A pleg that had to be started again has the time of a first relist as well. */
function plegError({ beat, starts, startedAtMs, loopStaleAfterMs }: ThreadHealth, nowMs: number): string | undefined {
  const relistedAtMs = beat?.loopAtMs ?? 0;
  if (relistedAtMs === 0 && starts === 1) return 'pleg has yet to be successful';
  const elapsedMs = Math.floor(nowMs - (relistedAtMs || startedAtMs));
  if (loopStaleAfterMs === 0 || elapsedMs <= loopStaleAfterMs) return undefined;
  return `pleg was last seen active ${goDuration(elapsedMs)} ago; threshold is ${goDuration(loopStaleAfterMs)}`;
}
