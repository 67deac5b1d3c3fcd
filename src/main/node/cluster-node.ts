/**
 * Keeps this node's Node object in the API server: registers it, reports its status, renews its lease and watches it. Exists only in a
 * cluster. The composition root starts it.
 */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBootTime } from '../../shared/linux/procfs.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { apiPath, type ApiClient } from '../api/index.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { EventSink } from '../events/index.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import { nodeHostIPs } from './addresses/node-addresses.ts';
import { ClusterIdentity } from './registration/cluster-identity.ts';
import type { LocalNodeStatus } from './status/local-node-status.ts';
import { NodeLease } from './node-lease.ts';
import { isReady, type Node, type NodeEvent } from './node-object.ts';
import { NodeStatusUpdater } from './status/node-status-updater.ts';
import { NodeStore, type NodeChange, type StoredNode } from './node-store.ts';
import { registerNode } from './registration/register-node.ts';
import { SharedFetch } from '../../shared/concurrency/shared-fetch.ts';
import { StartupLatency } from './registration/startup-latency.ts';
import { readVersionSkew } from './registration/version-skew.ts';

export interface ClusterNodeOptions {
  readonly client: ApiClient;
  readonly local: LocalNodeStatus;
  readonly config: Pick<
    KubeletConfiguration,
    'registerNode' | 'nodeStatusUpdateFrequency' | 'nodeStatusReportFrequency' | 'nodeLeaseDurationSeconds'
  >;
  readonly featureGates: FeatureGates;
  /** The flag --root-dir. */
  readonly rootDir: string;
  /**
   * Decides whether the extended resources of an existing Node are zeroed until their device plugins register. Default: true without a
   * checkpoint of the device manager.
   */
  readonly resetExtendedResources?: () => Promise<boolean>;
  /**
   * Resolves when the first relist is complete and the server listens. Before the relist, the status would mark a ready node, and with it its
   * pods, as not ready. A client may run kubectl exec or logs as soon as the node is ready, so the server must listen by then.
   */
  readonly mayReport: Promise<unknown>;
  readonly events: EventSink;
  /** Called with the server's Node after each update of its status, with or without a write. */
  readonly onReported?: (node: Node) => void;
  /** Called when heartbeats failed more than once. The client should then renew its connections. */
  readonly onRepeatedHeartbeatFailure: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

/** Jitter as a fraction of nodeStatusUpdateFrequency, so that many nodes do not report together. */
const updateJitter = 0.04;
/** How often the readiness of a ready and of an unready node is checked. Upstream checks every 100 ms at start. */
const readinessPeriodMs = { ready: 1000, unready: 200 };

export class ClusterNode {
  readonly store: NodeStore;
  readonly #options: ClusterNodeOptions;
  readonly #random: () => number;
  readonly #deadlineMs: number;
  readonly #stop = new AbortController();
  readonly #wakeup: Wakeup;
  readonly #updater: NodeStatusUpdater;
  readonly #lease: NodeLease;
  readonly #clusterIdentity: ClusterIdentity;
  readonly #registered = Promise.withResolvers<void>();
  readonly #latency: StartupLatency;
  readonly #sharedFetch = new SharedFetch(() => this.#fetch());
  #bootedAtMs = 0;
  #needsRegistration: boolean;
  #isReported = false;
  /** The readiness at the last status update. Null: no update yet. */
  #wasReady: boolean | null = null;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(options: ClusterNodeOptions) {
    const { client, local, config, clock, logger, onRepeatedHeartbeatFailure, random = Math.random } = options;
    this.#options = options;
    this.#random = random;
    this.#needsRegistration = config.registerNode;
    // The promise may reject at shutdown before anything awaits it.
    options.mayReport.catch(() => {});
    this.#wakeup = new Wakeup(clock);
    // As upstream: a heartbeat must not take longer than the interval until the next one.
    this.#deadlineMs = Math.min(config.nodeStatusUpdateFrequency, config.nodeLeaseDurationSeconds * 1000);
    const { nodeName } = local;
    const common = { client, nodeName, clock, random, logger };
    this.store = NodeStore.start(common);
    const heartbeats = { ...common, deadlineMs: this.#deadlineMs, onRepeatedHeartbeatFailure };
    this.#updater = new NodeStatusUpdater({
      ...heartbeats,
      store: this.store,
      refresh: () => local.refresh(this.store.get()),
      compute: (node) => local.compute(node),
      record: (event) => this.#record(event),
      onReported: (node) => this.#onReported(node),
      reportFrequencyMs: () => config.nodeStatusReportFrequency,
    });
    const kubeletStartedAtMs = clock.now() - process.uptime() * 1000;
    this.#latency = new StartupLatency({ clock, bootedAtMs: () => this.#bootedAtMs, kubeletStartedAtMs });
    this.#clusterIdentity = new ClusterIdentity({ client, logger, deadlineMs: this.#deadlineMs });
    this.#lease = new NodeLease({
      ...heartbeats,
      durationSeconds: config.nodeLeaseDurationSeconds,
      nodeUID: () => this.store.get()?.metadata.uid ?? null,
    });
  }

  /** Starts the loops. They retry until the API server is available. */
  static start(options: ClusterNodeOptions): ClusterNode {
    const clusterNode = new ClusterNode(options);
    clusterNode.#record({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    clusterNode.store.onChange((change) => clusterNode.#onNodeChange(change));
    const { signal } = clusterNode.#stop;
    void readFile('/proc/stat', 'utf8').then(
      (text) => (clusterNode.#bootedAtMs = parseBootTime(text) * 1000),
      () => {},
    );
    void clusterNode.registered.then(() => clusterNode.#warnOfVersionSkew(signal));
    clusterNode.#running = Promise.all([clusterNode.#run(signal), clusterNode.#pollReadiness(signal), clusterNode.#lease.run(signal)]);
    return clusterNode;
  }

  /** Resolves when the Node exists in the API server, created by this kubelet or, without registerNode, by another client. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  /** Returns the Node in the API server, else the Node that this kubelet would register. For admission and fieldRef. */
  node(): Node {
    return this.store.get() ?? this.#options.local.node();
  }

  /** Gets the Node from the API server, for a decision that the cached Node would reject. Rejects with ApiError. */
  fetch(): Promise<Node> {
    return this.#sharedFetch.get();
  }

  /** Returns the host IPs of the Node in the API server, primary first. Empty: not known yet. */
  hostIPs(): string[] {
    return nodeHostIPs(this.store.get()?.status?.addresses);
  }

  /** Called when readiness, pressures or volumes in use may have changed. Updates the status now. */
  wake(): void {
    this.#wakeup.wake();
  }

  /** Stops the loops. Does not delete the Node and its lease; the expired lease shows that the kubelet has stopped. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#running, this.store.close()]);
  }

  async #fetch(): Promise<Node> {
    const { client, local } = this.#options;
    const path = apiPath('api', 'v1', 'nodes', local.nodeName);
    const node = await client.call<StoredNode>({ method: 'GET', path, trafficClass: 'node', deadlineMs: this.#deadlineMs });
    this.store.observe(node);
    return node;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { config, local, logger } = this.#options;
    await local.untilNetworkKnown();
    // As upstream with an empty image cache, the Node is registered without images. The next status has them.
    if (!local.hasImages) void local.untilImagesKnown().then(() => this.wake());
    while (!signal.aborted) {
      try {
        if (this.#needsRegistration) await this.#register(signal);
        await this.#untilMayReport(signal);
        this.#wasReady = this.#isReady();
        await this.#updater.update(signal);
        if (this.#updater.isMissing) await this.#handleMissingNode(signal);
        else await this.#clusterIdentity.recordUID(signal);
      } catch (err) {
        if (!signal.aborted) logger.error({ err }, 'Keeping the node up to date failed, will try again');
      }
      await this.#wakeup.next(withJitter(config.nodeStatusUpdateFrequency, updateJitter, this.#random), signal);
    }
  }

  /**
   * Waits for the first relist and the server, but at most nodeStatusUpdateFrequency: the status must also report a runtime that lists no
   * pods.
   */
  async #untilMayReport(signal: AbortSignal): Promise<void> {
    if (this.#wasReady !== null) return;
    const { mayReport, clock, config } = this.#options;
    const settled = new AbortController();
    const finish = () => settled.abort();
    mayReport.then(finish, finish);
    await clock.sleep(config.nodeStatusUpdateFrequency, AbortSignal.any([signal, settled.signal])).catch(() => {});
  }

  /** Polls the readiness, because not every change is notified: a hanging thread sends nothing. */
  async #pollReadiness(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(this.#wasReady === false ? readinessPeriodMs.unready : readinessPeriodMs.ready, signal).catch(() => {});
      if (this.#wasReady !== null && this.#wasReady !== this.#isReady()) this.wake();
    }
  }

  #isReady(): boolean {
    return this.#options.local.problems().length === 0;
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { client, local, featureGates, rootDir, clock, logger } = this.#options;
    const { resetExtendedResources = () => isWithoutDeviceCheckpoint(rootDir) } = this.#options;
    this.#latency.markRegistrationAttempted();
    const registering = registerNode(
      {
        client,
        initial: () => local.initialNode(),
        refresh: () => local.refresh(this.store.get()),
        resetExtendedResources,
        getWhenForbidden: !featureGates.enabled('KubeletRegistrationGetOnExistsOnly'),
        deadlineMs: this.#deadlineMs,
        clock,
        random: this.#random,
        logger,
      },
      signal,
    );
    // Records the cluster's UID together with the registration, because the cluster may be reset at any time.
    const [registered] = await Promise.all([registering, this.#clusterIdentity.recordUID(signal)]);
    this.#needsRegistration = false;
    if (registered.isNew) this.#latency.markRegistered();
    this.store.observe(registered.node);
    for (const event of registered.initial.events) this.#record(event);
    this.#registered.resolve();
    this.#lease.wake();
  }

  #onNodeChange(change: NodeChange): void {
    if (change === 'changed') this.#registered.resolve();
    // Later changes are mostly this kubelet's own writes.
    if (change === 'changed' && this.#isReported) return;
    this.wake();
    this.#lease.wake();
  }

  /**
   * A deleted Node stays deleted, as upstream: the deletion was intended, and a restart of the kubelet registers the Node again. A Node that
   * is missing because the cluster was reset is registered again.
   */
  async #handleMissingNode(signal: AbortSignal): Promise<void> {
    const { config, logger } = this.#options;
    this.#isReported = false;
    if (!config.registerNode || !(await this.#clusterIdentity.hasChanged(signal))) return;
    logger.warn('The cluster was reset, registering the node again');
    this.store.reset();
    this.#needsRegistration = true;
    this.wake();
  }

  #onReported(node: Node): void {
    this.#isReported = true;
    this.#options.onReported?.(node);
    if (isReady(node)) this.#latency.markReady();
  }

  /** Once: the version of a control plane changes rarely, and each kubelet starts anew for its own upgrade. */
  async #warnOfVersionSkew(signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const skew = await readVersionSkew({ client, deadlineMs: this.#deadlineMs, signal, logger });
    if (skew !== null) this.#record({ type: 'Warning', reason: 'VersionSkew', message: skew });
  }

  #record({ type, reason, message }: NodeEvent): void {
    const { events, local } = this.#options;
    events.record({ object: nodeReference(local.nodeName), type, reason, message });
  }
}

/** The device manager writes its checkpoint when a device plugin registers. A reinstalled node has none. */
async function isWithoutDeviceCheckpoint(rootDir: string): Promise<boolean> {
  const checkpoint = join(rootDir, 'device-plugins', 'kubelet_internal_checkpoint');
  return access(checkpoint).then(
    () => false,
    () => true,
  );
}
