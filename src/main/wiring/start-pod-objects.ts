/** Starts the parts that keep what pods use of the API server: their objects, and the runtime classes. A standalone kubelet has neither. */
import type { PullTokensApi } from '../../shared/contracts/credential-providers.ts';
import { Listeners } from '../../shared/concurrency/listeners.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { EventSink } from '../events/index.ts';
import type { ClusterNode } from '../node/index.ts';
import type { PodObjectManager, RuntimeClassManager } from '../objects/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface PodObjectsStart extends Pick<KubeletContext, 'podLifecycle'> {
  /** Null when standalone. */
  readonly cluster: Pick<Cluster, 'startPodObjectManager' | 'startRuntimeClassManager'> | null;
  readonly nodeServices: { readonly clusterNode: ClusterNode | null };
  /** Called once, with the function that fetches pull tokens; never called when standalone. */
  readonly providePullTokens: (pullToken: PullTokensApi['pullToken']) => void;
  readonly cache: RuntimeStatusCache;
  readonly podManager: PodManager;
  readonly events: EventSink;
}

export interface PodObjects {
  readonly podObjects: PodObjectManager | undefined;
  readonly runtimeClasses: RuntimeClassManager | undefined;
  /** Called with the pods whose objects have changed, or whose runtime class was added. */
  readonly objectChanges: Listeners<[uids: Iterable<PodUID>]>;
}

export function startPodObjects(start: PodObjectsStart): PodObjects {
  const { podLifecycle, cluster, nodeServices, providePullTokens, cache, podManager, events } = start;
  const { clusterNode } = nodeServices;
  const objectChanges = new Listeners<[uids: Iterable<PodUID>]>();
  const wake = (uids: Iterable<PodUID>) => objectChanges.notify(uids);
  const podObjects =
    cluster && clusterNode
      ? cluster.startPodObjectManager(clusterNode, { isRunning: (uid) => isPodRunning(cache.get(uid)), onChanged: wake, events })
      : undefined;
  if (podObjects) {
    providePullTokens((request) => podObjects.pullToken(request));
    podLifecycle.register({
      name: 'pod-objects',
      admitted: (pod) => podObjects.registerPod(pod),
      changed: (_, pod) => podObjects.registerPod(pod),
      finished: (uid) => podObjects.unregisterPod(uid),
    });
  }
  const runtimeClasses = cluster?.startRuntimeClassManager({
    onAdded: (names) => {
      const waiting = podManager.all().filter(({ spec }) => names.has(spec.runtimeClassName ?? ''));
      wake(waiting.map(podUID));
    },
  });
  return { podObjects, runtimeClasses, objectChanges };
}
