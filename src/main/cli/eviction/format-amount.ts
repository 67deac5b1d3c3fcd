/** Formats amounts of the resource that an eviction signal measures. Pure. */
import type { StarvedResource } from '../../../shared/contracts/eviction.ts';
import { formatSize } from '../../../shared/kubernetes/format-size.ts';

/** Bytes as `1.5 GiB`; inodes and processes as they are. */
export function formatAmount(resource: StarvedResource, amount: number | null): string {
  if (amount === null) return 'unknown';
  if (resource === 'inodes' || resource === 'pids') return String(amount);
  return amount < 0 ? `-${formatSize(-amount)}` : formatSize(amount);
}

/** `+1.5 GiB` is more than requested, `-20.0 MiB` less. */
export function formatExcess(resource: StarvedResource, usage: number | null, request: number): string {
  if (usage === null) return 'unknown';
  const excess = usage - request;
  return `${excess > 0 ? '+' : ''}${formatAmount(resource, excess)}`;
}
