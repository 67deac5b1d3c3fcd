/**
 * The times that pods get before a shutdown of the node, by priority. Pure. Upstream: migrateConfig and groupByPriority in
 * pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { systemCriticalPriority } from '../../shared/kubernetes/critical-pod.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { KubeletConfiguration, ShutdownGracePeriodByPodPriority } from '../config/kubelet-configuration.ts';

/** Upstream's scheduling.DefaultPriorityWhenNoDefaultClassExists. */
const defaultPriority = 0;

export type ShutdownPeriod = ShutdownGracePeriodByPodPriority;

export interface ShutdownGroup {
  readonly period: ShutdownPeriod;
  readonly pods: readonly AllocatedPod[];
}

export type ShutdownSettings = Pick<
  KubeletConfiguration,
  'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
>;

/** Returns the periods from the lowest priority to the highest. Empty: pods get no time before a shutdown. */
export function shutdownPeriods(settings: ShutdownSettings, gates: Pick<FeatureGates, 'enabled'>): readonly ShutdownPeriod[] {
  if (!gates.enabled('GracefulNodeShutdown')) return [];
  const byPriority = settings.shutdownGracePeriodByPodPriority;
  const isUsed = gates.enabled('GracefulNodeShutdownBasedOnPodPriority') && byPriority.length > 0;
  return isUsed ? byPriority.toSorted((a, b) => a.priority - b.priority) : periodsOfTwoClasses(settings);
}

/** Ordinary pods have what critical pods leave of the time. */
function periodsOfTwoClasses({
  shutdownGracePeriod: allMs,
  shutdownGracePeriodCriticalPods: criticalMs,
}: ShutdownSettings): ShutdownPeriod[] {
  if (allMs === 0 || criticalMs > allMs || criticalMs < 0) return [];
  return [
    { priority: defaultPriority, shutdownGracePeriodSeconds: Math.trunc((allMs - criticalMs) / 1000) },
    { priority: systemCriticalPriority, shutdownGracePeriodSeconds: Math.trunc(criticalMs / 1000) },
  ];
}

export function totalMs(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0) * 1000;
}

/**
 * Returns the groups in the order in which they end, some of them without pods. A pod belongs to the highest period that is not above its priority; below all
 * periods, to the lowest.
 */
export function groupByPriority(periods: readonly ShutdownPeriod[], pods: readonly AllocatedPod[]): ShutdownGroup[] {
  const groups = periods.map((period) => ({ period, pods: [] as AllocatedPod[] }));
  for (const pod of pods) {
    const priority = pod.spec.priority ?? 0;
    // Of two periods with one priority, upstream's search finds the first.
    const exact = groups.find(({ period }) => period.priority === priority);
    const group = exact ?? groups.findLast(({ period }) => period.priority < priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups;
}

/** The pod's own grace period, if it is shorter than the time of its group. */
export function gracePeriodSeconds({ spec }: Pod, { shutdownGracePeriodSeconds: ofGroup }: ShutdownPeriod): number {
  return Math.min(spec.terminationGracePeriodSeconds ?? ofGroup, ofGroup);
}
