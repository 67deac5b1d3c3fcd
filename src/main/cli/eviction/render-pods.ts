/** Renders the pods in the order of eviction, and the pods over a limit of local storage. Pure. */
import type { EvictionPlan, LocalStorageViolation, PodRanking, RankedPod } from '../../../shared/contracts/eviction.ts';
import { formatSize } from '../../../shared/kubernetes/format-size.ts';
import { alignColumns } from '../align-columns.ts';
import { formatAmount, formatExcess } from './format-amount.ts';
import { podLabel } from './pod-label.ts';
import { wrapText } from './wrap-text.ts';

const orders: Readonly<Record<PodRanking['resource'], string>> = {
  memory: 'Order: pods that use more than they request, then lower priorities, then those that use most over their request.',
  'ephemeral-storage': 'Order: pods that use more than they request, then lower priorities, then those that use most over their request.',
  inodes: 'Order: lower priorities, then the pods with the most inodes.',
  pids: 'Order: lower priorities, then the pods with the most processes.',
};

const limits: Readonly<Record<LocalStorageViolation['signal'], string>> = {
  'emptydirfs.limit': 'emptyDir sizeLimit',
  'ephemeralpodfs.limit': 'ephemeral-storage of the pod',
  'ephemeralcontainerfs.limit': 'ephemeral-storage of a container',
};

export function renderRanking({ action, ranking }: EvictionPlan): string[] {
  const { pods, resource } = ranking;
  if (pods.length === 0) return ['No pods run on this node.'];
  const hasRequests = resource !== 'inodes' && resource !== 'pids';
  const header = ['#', 'POD', 'USAGE', ...(hasRequests ? ['OVER REQUEST'] : []), 'PRIORITY', 'RESULT'];
  const candidates = pods.filter(({ notEvictableBecause, isEvicted }) => notEvictableBecause === null && !isEvicted);
  const isOtherEnding = pods.some(({ isEvicted }) => isEvicted);
  const rows = pods.map((pod) => {
    const position = candidates.indexOf(pod) + 1;
    return [
      position === 0 ? '-' : String(position),
      podLabel(pod),
      formatAmount(resource, pod.usage),
      ...(hasRequests ? [formatExcess(resource, pod.usage, pod.request)] : []),
      String(pod.priority),
      resultOf(pod, position, { action, isOtherEnding }),
    ];
  });
  return [...wrapText(orders[resource]), '', ...alignColumns([header, ...rows])];
}

function resultOf(
  { uid, notEvictableBecause, isEvicted }: RankedPod,
  position: number,
  { action, isOtherEnding }: Pick<EvictionPlan, 'action'> & { readonly isOtherEnding: boolean },
): string {
  if (notEvictableBecause !== null) return staying(notEvictableBecause);
  if (isEvicted) return uid === action?.victim ? 'was evicted, ends sooner' : 'was evicted';
  if (uid === action?.victim) return isOtherEnding ? 'goes next' : action.nodeReclaim.length === 0 ? 'goes now' : 'goes if needed';
  return position === 1 ? 'would go first' : 'stays for now';
}

export function renderViolations({ localStorageViolations, ranking }: EvictionPlan): string[] {
  if (localStorageViolations.length === 0) return [];
  const header = ['POD', 'OVER ITS LIMIT OF', 'USED', 'LIMIT', 'RESULT'];
  const rows = localStorageViolations.map((violation) => [
    podLabel(violation),
    limits[violation.signal],
    formatSize(violation.usedBytes),
    formatSize(violation.limitBytes),
    ofViolation(violation, ranking),
  ]);
  return alignColumns([header, ...rows]);
}

function ofViolation({ uid, notEvictableBecause }: LocalStorageViolation, ranking: PodRanking): string {
  if (notEvictableBecause !== null) return staying(notEvictableBecause);
  return ranking.pods.some((pod) => pod.uid === uid && pod.isEvicted) ? 'was evicted' : 'goes now';
}

function staying(because: NonNullable<RankedPod['notEvictableBecause']>): string {
  return `stays: ${because === 'critical priority' ? 'critical' : because}`;
}
