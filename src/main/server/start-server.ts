/** Starts the server thread and answers its requests: pods and containers from main's state, reviews of callers from the API server. */
import { transfer } from 'comlink';
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { transferBytes } from '../../shared/thread/endpoint.ts';
import type { Reviews } from '../api/index.ts';
import { flagValues } from '../config/flags/flag-values.ts';
import type { KubeletOptions } from '../config/options.ts';
import type { PodFeed } from './pod-feed.ts';
import { allocatedPodJson, allocatedPodList } from './allocated-pods.ts';
import { PodLists } from './pod-lists.ts';
import { sourcePodList } from './source-pod-list.ts';
import type { PodResourcesLister } from '../pod-resources/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { SourcesReady } from '../sources/index.ts';
import { containerResolver } from './resolve-container.ts';
import { runningPodList } from './running-pod-list.ts';
import { secureServerFault, serverSettings } from './server-settings.ts';
import type { HealthThread } from '../threads/health-thread.ts';
import { ServerThread } from '../threads/server-thread.ts';
import type { SharedThreadState } from '../threads/shared-thread-state.ts';

export interface ServerStart {
  readonly options: KubeletOptions;
  readonly state: SharedThreadState;
  readonly health: HealthThread | null;
  readonly nodeName: string;
  readonly snapshot: SharedArrayBuffer;
  readonly usage: SharedArrayBuffer;
  readonly storage: SharedArrayBuffer;
  readonly claimedVolumes: SharedArrayBuffer;
  /** The table of pod timelines. */
  readonly timelines: SharedArrayBuffer;
  readonly podManager: PodManager;
  readonly statuses: ApiStatusCache;
  readonly cache: RuntimeStatusCache;
  readonly podFeed: PodFeed;
  readonly sourcesReady: Pick<SourcesReady, 'untilReady'>;
  readonly podResources: PodResourcesLister;
  readonly allocatedPods: () => readonly AllocatedPod[];
  readonly inspectPod: (uid: PodUID) => Promise<void>;
  /** An ImageGcPlan, as JSON. */
  readonly imageGcPlan: () => Promise<string>;
  readonly evictionPlan: MainApi['evictionPlan'];
  readonly probeMetrics: (format: MetricsFormat) => Promise<Uint8Array>;
  readonly runtimeMetrics: (format: MetricsFormat) => Promise<Uint8Array | undefined>;
  /** Null when standalone: no API server reviews callers. */
  readonly cluster: { readonly reviews: Reviews } | null;
  readonly logger: Logger;
}

export function startServer({
  options,
  state,
  health,
  nodeName,
  snapshot,
  usage,
  storage,
  claimedVolumes,
  timelines,
  podManager,
  statuses,
  cache,
  podFeed,
  sourcesReady,
  podResources,
  allocatedPods,
  inspectPod,
  imageGcPlan,
  evictionPlan,
  probeMetrics,
  runtimeMetrics,
  cluster,
  logger,
}: ServerStart): ServerThread {
  const { config } = options;
  const hasApiServer = cluster !== null;
  const fault = secureServerFault(config, hasApiServer);
  if (config.enableServer && fault !== null)
    logger.warn({ reason: fault }, 'the authenticated server is not started: no client could be authenticated');
  const podLists = new PodLists(
    { pods: sourcePodList(podManager, statuses), runningPods: runningPodList(cache), allocatedPods: allocatedPodList(allocatedPods) },
    logger,
  );
  const settings = serverSettings(options, { nodeName, snapshot, usage, storage, claimedVolumes, timelines, hasApiServer });
  const tls = settings.secure?.tls;
  if (tls && tls.selfSignedFor !== null) options.live.setDetected({ tlsCertFile: tls.certFile, tlsPrivateKeyFile: tls.keyFile });
  return ServerThread.start({
    state,
    logger,
    settings,
    mainApi: {
      podListUIDs: async (list) => podLists.uids(list),
      async podListItems(list, uids) {
        const items = podLists.items(list, uids);
        return transfer(items, [items.json.buffer as ArrayBuffer]);
      },
      allocatedPod: async (query) => allocatedPodJson(allocatedPods(), query),
      imageGcPlan,
      evictionPlan,
      configz: async () => options.live.configz(),
      flagz: async () => flagValues(options),
      resolveContainer: containerResolver({
        pod: (fullName) => podManager.getByFullName(fullName),
        apiStatus: (uid) => statuses.get(uid),
        runtimeStatus: (uid) => cache.get(uid),
        inspectPod,
        untilSourcesReady: (signal) => sourcesReady.untilReady(signal),
        translateUID: (uid) => podManager.translatePodUID(uid as PodUID),
      }),
      probeMetrics: async (format) => transferBytes(await probeMetrics(format)),
      async runtimeMetrics(format) {
        const bytes = await runtimeMetrics(format);
        return bytes && transferBytes(bytes);
      },
      podChanges: (cursor) => podFeed.next(cursor),
      listPodResources: async (version) => podResources.list(version),
      getPodResources: async (namespace, name) => podResources.get(namespace, name),
      allocatableResources: async () => podResources.allocatable(),
      resetHealthMetrics: async () => health?.resetMetrics(),
      ...cluster?.reviews,
    },
  });
}
