/** What the kubelet must keep to while pods are large, and the table of what they cost. Pure. */

const mebibyte = 1024 * 1024;

/** Of memory, two minutes after the deletion. */
export const allowedKeptBytes = 16 * mebibyte;

/** In a sync thread, for each pod. */
const allowedSyncBytes = 32 * mebibyte;

/** What was measured during a batch and after it. */
export interface BatchSample {
  readonly pods: number;
  /** Of all pods in etcd's encoding. */
  readonly podBytes: number;
  readonly sameProcess: boolean;
  readonly threadDeaths: number;
  /** Milliseconds. */
  readonly healthzMs: readonly number[];
  /** What the first request that failed got. */
  readonly unhealthy: string | null;
  /** Beside the large pods, and after them. */
  readonly smallPodStartMs: readonly number[];
  /** The same, just before the large pods. */
  readonly before: { readonly healthzMs: readonly number[]; readonly smallPodStartMs: number };
  readonly rssBeforeBytes: number;
  readonly rssPeakBytes: number;
  /** Two minutes after the deletion. */
  readonly rssAfterBytes: number;
  /** By how much one thread of the sync pool has grown at most. */
  readonly syncThreadBytes: number;
  /** Of the kubelet's process. */
  readonly cpuSeconds: number;
  readonly stayedReady: boolean;
  readonly allDeleted: boolean;
}

/** Returns the bounds that were missed, in words with their values. On a busy host, a time may be twice as long as it was before the large pods. */
export function missedBounds(sample: BatchSample): readonly string[] {
  const grown = sample.rssPeakBytes - sample.rssBeforeBytes;
  const left = sample.rssAfterBytes - sample.rssBeforeBytes;
  const smallPodMs = Math.max(...sample.smallPodStartMs);
  const p99 = percentile(sample.healthzMs, 0.99);
  const maxSmallPodMs = Math.max(2000, 2 * sample.before.smallPodStartMs);
  const maxP99 = Math.max(100, 2 * percentile(sample.before.healthzMs, 0.99));
  const checks: readonly [isMissed: boolean, text: string][] = [
    [!sample.sameProcess, 'the process ended'],
    [sample.threadDeaths > 0, `${sample.threadDeaths} threads ended`],
    [sample.unhealthy !== null, `healthz failed: ${sample.unhealthy}`],
    [p99 > maxP99, `healthz took ${Math.round(p99)} ms (p99)`],
    [smallPodMs > maxSmallPodMs, `a small pod started in ${Math.round(smallPodMs)} ms`],
    [grown > 64 * mebibyte + 8 * sample.podBytes, `memory grew by ${toMiB(grown)} MiB`],
    [left > allowedKeptBytes, `${toMiB(left)} MiB were kept`],
    [sample.syncThreadBytes > sample.pods * allowedSyncBytes, `a sync thread grew by ${toMiB(sample.syncThreadBytes)} MiB`],
    [!sample.stayedReady, 'the node was not Ready'],
    [!sample.allDeleted, 'a pod could not be deleted'],
  ];
  return checks.flatMap(([isMissed, text]) => (isMissed ? [text] : []));
}

/** The smallest value that at least this part of the values does not exceed. NaN without values, which misses no bound and is found by another. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? NaN;
}

export interface FieldCost {
  readonly field: string;
  readonly sample: BatchSample;
}

/** The fields with the most memory for each byte first. */
export function worstFields(costs: readonly FieldCost[], count: number): readonly FieldCost[] {
  const cost = ({ sample }: FieldCost) => (sample.rssPeakBytes - sample.rssBeforeBytes) / Math.max(sample.podBytes, 1);
  return costs.toSorted((a, b) => cost(b) - cost(a)).slice(0, count);
}

/** Returns Markdown. */
export function renderCosts(costs: readonly FieldCost[]): string {
  const rows = costs.map(({ field, sample }) => {
    const { podBytes, rssPeakBytes, rssBeforeBytes, rssAfterBytes, syncThreadBytes, healthzMs, smallPodStartMs, before, cpuSeconds } =
      sample;
    const cells = [
      `\`${field}\``,
      toMiB(podBytes),
      toMiB(rssPeakBytes - rssBeforeBytes),
      toMiB(rssAfterBytes - rssBeforeBytes),
      toMiB(syncThreadBytes),
      `${Math.round(percentile(healthzMs, 0.99))}, ${Math.round(Math.max(...healthzMs))}`,
      [before.smallPodStartMs, ...smallPodStartMs].map(Math.round).join(', '),
      cpuSeconds.toFixed(1),
      missedBounds(sample).join('; ') || 'none',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| field | MiB in etcd | MiB grown | MiB kept | MiB in a sync thread | healthz p99, longest (ms) | small pod before, during, after (ms) | CPU (s) | missed |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function toMiB(bytes: number): string {
  return (bytes / mebibyte).toFixed(1);
}
