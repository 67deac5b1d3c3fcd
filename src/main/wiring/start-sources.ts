/** Starts the sources of pods that the configuration names; in a cluster, the API server is one of them. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { ObjectStore } from '../api/index.ts';
import type { EventSink } from '../events/index.ts';
import type { ClusterNode } from '../node/index.ts';
import { PodSources, type SourcesReady, type PodUpdate } from '../sources/index.ts';
import type { StatusManager } from '../pods/status/index.ts';
import type { SyncLoop } from '../sync-loop.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface SourcesOptions extends KubeletContext {
  readonly sourcesReady: SourcesReady;
  /** Null when standalone. */
  readonly cluster: Cluster | null;
  /** Null when standalone. */
  readonly clusterNode: ClusterNode | null;
  /** Undefined when standalone. */
  readonly statusManager: StatusManager | undefined;
  /** The API source writes the API server's pods into this store. */
  readonly apiPods: ObjectStore<Pod>;
  readonly events: EventSink;
  readonly syncLoop: Pick<SyncLoop<PodUpdate>, 'onSourceReport'>;
}

export function startSources(sources: SourcesOptions): PodSources {
  const {
    clock,
    options,
    nodeName,
    threads,
    log,
    shutdown,
    sourcesReady: ready,
    cluster,
    clusterNode,
    statusManager,
    apiPods,
    events,
    syncLoop,
  } = sources;
  const { config } = options;
  const podSources = PodSources.start({
    ready,
    nodeName,
    staticPodPath: config.staticPodPath,
    fileCheckFrequencyMs: config.fileCheckFrequency,
    staticPodURL: config.staticPodURL,
    staticPodURLHeader: config.staticPodURLHeader,
    httpCheckFrequencyMs: config.httpCheckFrequency,
    api:
      cluster && clusterNode
        ? {
            client: cluster.client,
            store: apiPods,
            nodeSynced: clusterNode.store.untilSynced(),
            onListed: () => statusManager?.onListed(),
          }
        : null,
    decode: (task) => threads.pool.decodeManifest(task),
    onReport: () => syncLoop.onSourceReport(),
    onEvent: (event) => events.record(event),
    clock,
    logger: log('sources'),
  });
  shutdown.register('sources', () => podSources.close());
  return podSources;
}
