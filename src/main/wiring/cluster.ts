/**
 * Starts the parts that only a member of a cluster has: the API client, the parts that write through it (events, pod statuses, mirror pods,
 * the Node) and the parts that read through it (pods' objects, runtime classes). A standalone kubelet has none of them.
 */
import { createApiClient, createReviews, type ApiClient, type ApiConnection, type Reviews } from '../api/index.ts';
import type { ClientCredentials } from '../certificates/index.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { ClusterNode, type ClusterNodeOptions } from '../node/index.ts';
import { EventRecorder, EventsAfterStatus, type EventsAfterStatusOptions, type EventSink } from '../events/index.ts';
import { ownerUID } from '../pods/static/mirror-pod.ts';
import { MirrorPods, type MirrorPodsDependencies } from '../pods/static/mirror-pods.ts';
import type { PodDispatcher } from '../pods/dispatch/index.ts';
import type { StatusManager } from '../pods/status/index.ts';
import { PodObjectManager, RuntimeClassManager, type PodObjectManagerOptions, type RuntimeClassManagerOptions } from '../objects/index.ts';
import { startStatusManager, type StatusManagerStart } from './start-status-manager.ts';

/**
 * Events wait for this long. A pod's start takes the runtime and the API server some hundred milliseconds, and the pod's three events must not
 * delay it.
 */
const eventDelayMs = 500;
/** A config map stays in memory for this long without a pod, so that a start does not read the config map again that every pod of a namespace needs. */
const configMapRetentionMs = 60_000;

export type ClusterOptions = Pick<
  KubeletContext,
  'clock' | 'random' | 'options' | 'nodeName' | 'log' | 'shutdown' | 'signal' | 'podLifecycle'
>;

export class Cluster {
  readonly client: ApiClient;
  readonly reviews: Reviews;
  readonly #options: ClusterOptions;
  readonly #connection: ApiConnection;
  /** The UID of the first Node object that this kubelet has seen. As upstream, a recreated Node does not change it. */
  #nodeUID: string | undefined;

  private constructor(options: ClusterOptions, connection: ApiConnection) {
    const { client } = connection;
    this.#options = options;
    this.client = client;
    this.reviews = createReviews(client, options.clock);
    this.#connection = connection;
  }

  /** Null without a kubeconfig: the kubelet is standalone. Rejects when the kubeconfig cannot be read; the API server may be unavailable. */
  static async connect(options: ClusterOptions): Promise<Cluster | null> {
    const { clock, options: kubelet, log, shutdown } = options;
    const { config, live, flags } = kubelet;
    if (flags.kubeconfig === '') return null;
    const connectionSettings = {
      rateLimits: live.view,
      nodeStatusUpdateFrequencyMs: config.nodeStatusUpdateFrequency,
      nodeLeaseDurationMs: config.nodeLeaseDurationSeconds * 1000,
      clock,
      logger: log('api'),
    };
    const credentials = await prepareCredentials(options, (kubeconfigPath) => createApiClient({ ...connectionSettings, kubeconfigPath }));
    const managed = credentials ?? undefined;
    const connection = await createApiClient({ ...connectionSettings, kubeconfigPath: flags.kubeconfig, managed });
    shutdown.register('api', () => connection.close());
    shutdown.register('client-certificate', async () => credentials?.close());
    credentials?.start(connection);
    return new Cluster(options, connection);
  }

  /** Follows a changed configuration. */
  setRateLimits(config: KubeletConfiguration): void {
    this.#connection.setRateLimits(config);
  }

  /** The recorder sends events to the API server and to the log. */
  startEventRecorder(
    eventLog: EventSink,
    dispatcher: Pick<PodDispatcher, 'untilIdle'>,
    order: Pick<EventsAfterStatusOptions, 'statuses' | 'syncInProgress'>,
  ): EventSink {
    const { clock, nodeName, log, shutdown } = this.#options;
    const recorder = new EventRecorder({
      client: this.client,
      nodeName,
      nodeUID: () => this.#nodeUID,
      log: eventLog,
      initialDelayMs: eventDelayMs,
      untilIdle: (signal) => dispatcher.untilIdle(signal),
      clock,
      logger: log('events'),
    });
    const ordered = new EventsAfterStatus({ ...order, next: recorder, clock });
    shutdown.register('events', async () => {
      await ordered.close();
      await recorder.close();
    });
    return ordered;
  }

  startStatusManager(stores: Pick<StatusManagerStart, 'podManager' | 'apiPods' | 'timelines'>): StatusManager {
    return startStatusManager({ ...this.#options, ...stores, client: this.client });
  }

  /** Registers the node and keeps its status and lease. For the parameters see ClusterNodeOptions. */
  startClusterNode(deps: Pick<ClusterNodeOptions, 'local' | 'events' | 'mayReport' | 'onReported'>): ClusterNode {
    const { clock, options, log, shutdown } = this.#options;
    const clusterNode = ClusterNode.start({
      ...deps,
      client: this.client,
      config: options.live.view,
      featureGates: options.featureGates,
      rootDir: options.flags.rootDirectory,
      onRepeatedHeartbeatFailure: () => this.#connection.renewConnections(),
      clock,
      logger: log('node'),
    });
    shutdown.register('node', () => clusterNode.close());
    clusterNode.store.onChange(() => (this.#nodeUID ??= clusterNode.store.get()?.metadata.uid));
    return clusterNode;
  }

  startPodObjectManager(
    clusterNode: ClusterNode,
    { events, ...deps }: Pick<PodObjectManagerOptions, 'isRunning' | 'onChanged'> & { readonly events: EventSink },
  ): PodObjectManager {
    const { clock, options, nodeName, log, shutdown } = this.#options;
    const { featureGates } = options;
    const objectManager = PodObjectManager.start({
      ...deps,
      client: this.client,
      strategy: options.config.configMapAndSecretChangeDetectionStrategy,
      configMapRetentionMs,
      syncFrequencyMs: options.config.syncFrequency,
      objectTTLSeconds: () => secondsOf(clusterNode.node().metadata.annotations?.['node.alpha.kubernetes.io/ttl']),
      projectsTrustBundles: featureGates.enabled('ClusterTrustBundleProjection'),
      certificates: featureGates.enabled('PodCertificateRequest')
        ? { nodeName, nodeUID: () => clusterNode.store.get()?.metadata.uid, events }
        : null,
      clock,
      logger: log('values'),
    });
    shutdown.register('pod-objects', () => objectManager.close());
    return objectManager;
  }

  startRuntimeClassManager(deps: Pick<RuntimeClassManagerOptions, 'onAdded'>): RuntimeClassManager {
    const { clock, log, shutdown } = this.#options;
    const runtimeClasses = RuntimeClassManager.start({ ...deps, client: this.client, clock, logger: log('runtime-classes') });
    shutdown.register('runtime-classes', () => runtimeClasses.close());
    return runtimeClasses;
  }

  /** The mirror pods show the static pods to the cluster. */
  startMirrorPods(
    clusterNode: ClusterNode,
    deps: Pick<MirrorPodsDependencies, 'podManager' | 'isSynced' | 'sourcesReady' | 'isStaticPodEnding' | 'onMirrorPod'>,
  ): MirrorPods {
    const { clock, random, nodeName, log, shutdown } = this.#options;
    const mirrorPods = new MirrorPods({
      ...deps,
      client: this.client,
      nodeName,
      nodeUID: () => ownerUID(clusterNode.store.get()),
      clock,
      logger: log('mirror-pods'),
      random,
    });
    // The Node owns the mirror pods: they are created once the Node is known.
    const unsubscribe = clusterNode.store.onChange(() => mirrorPods.reconcile());
    shutdown.register('mirror-pods', () => {
      unsubscribe();
      return mirrorPods.close();
    });
    return mirrorPods;
  }
}

/** Returns null when the kubelet uses the credentials of the kubeconfig as they are. Then the code for certificates is not loaded, which saves time. */
async function prepareCredentials(
  { clock, options: { config, flags }, nodeName, log }: ClusterOptions,
  connect: (kubeconfigPath: string) => Promise<ApiConnection>,
): Promise<ClientCredentials | null> {
  const rotates = config.rotateCertificates;
  if (!rotates && flags.bootstrapKubeconfig === '') return null;
  const { ClientCredentials } = await import('../certificates/index.ts');
  return ClientCredentials.prepare({
    kubeconfigPath: flags.kubeconfig,
    bootstrapPath: flags.bootstrapKubeconfig,
    certDirectory: flags.certDirectory,
    nodeName,
    rotates,
    connect,
    clock,
    logger: log('client-certificate'),
  });
}

function secondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
