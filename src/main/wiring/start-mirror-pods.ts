/** Starts the mirror pods, which show the static pods to the cluster. A standalone kubelet has none. */
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { ClusterNode } from '../node/index.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { MirrorPods } from '../pods/static/mirror-pods.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { PodSources, SourcesReady } from '../sources/index.ts';
import type { Cluster } from './cluster.ts';

export interface MirrorPodsStart {
  /** Null when standalone. */
  readonly cluster: Pick<Cluster, 'startMirrorPods'> | null;
  readonly nodeServices: { readonly clusterNode: ClusterNode | null };
  readonly podManager: PodManager;
  readonly podStates: PodStates;
  readonly statuses: ApiStatusCache;
  readonly workers: Pick<PodWorkers, 'refreshStatuses'>;
  readonly sources: Pick<PodSources, 'hasApiSynced'>;
  readonly sourcesReady: Pick<SourcesReady, 'allReady'>;
}

/** Undefined when standalone. */
export function startMirrorPods(start: MirrorPodsStart): MirrorPods | undefined {
  const { cluster, podManager, podStates, statuses, workers, sources, sourcesReady } = start;
  const { clusterNode } = start.nodeServices;
  if (!cluster || !clusterNode) return undefined;
  return cluster.startMirrorPods(clusterNode, {
    podManager,
    isSynced: () => sources.hasApiSynced(),
    sourcesReady: () => sourcesReady.allReady(),
    isStaticPodEnding: (fullName, wanted) => podStates.isStaticPodEnding(fullName, wanted),
    onMirrorPod: (pod, mirror) => {
      if (statuses.adoptMirrorStatus(podUID(pod), mirror.status)) workers.refreshStatuses([podUID(pod)]);
    },
  });
}
