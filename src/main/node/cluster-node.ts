/**
 * This node's membership in its cluster: registers it, keeps its status and its lease, and follows the Node at the API server. The
 * room's one part that the composition root starts.
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
import { nodeHostIPs } from './addresses/addresses.ts';
import { ClusterIdentity } from './registration/cluster-identity.ts';
import type { LocalNodeStatus } from './status/local-node-status.ts';
import { NodeLease } from './node-lease.ts';
import { isReady, type Node, type NodeEvent } from './node-object.ts';
import { NodeStatusUpdater } from './status/node-status-updater.ts';
import { NodeStore, type NodeChange, type StoredNode } from './node-store.ts';
import { registerNode } from './registration/register-node.ts';
import { SharedFetch } from '../../shared/concurrency/shared-fetch.ts';
import { StartupLatency } from './registration/startup-latency.ts';

export interface ClusterNodeOptions {
  readonly client: ApiClient;
  readonly local: LocalNodeStatus;
  readonly config: Pick<
    KubeletConfiguration,
    'registerNode' | 'nodeStatusUpdateFrequency' | 'nodeStatusReportFrequency' | 'nodeLeaseDurationSeconds'
  >;
  readonly featureGates: FeatureGates;
  /** `/var/lib/kubelet` unless told. */
  readonly rootDir: string;
  /** Whether the devices that an existing Node has are to be none until their plugins come. Default: the device manager has no checkpoint. */
  readonly resetExtendedResources?: () => Promise<boolean>;
  /** Resolves when the runtime's pods were looked at once. Until then a node that was ready would be called unready, and its pods with it. */
  readonly podsSeen: Promise<unknown>;
  readonly events: EventSink;
  /** Heartbeats failed more than once: the client should close its connections. */
  readonly onRepeatedHeartbeatFailure: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** Of nodeStatusUpdateFrequency: so that many nodes don't report together. */
const updateJitter = 0.04;
/** How often a well node looks whether it still is, and one that is not whether it is again. Upstream's fast look at the start: 100 ms. */
const readinessPeriodMs = { well: 1000, unwell: 200 };

export class ClusterNode {
  /** The Node as the API server has it. */
  readonly store: NodeStore;
  readonly #options: ClusterNodeOptions;
  readonly #random: () => number;
  readonly #deadlineMs: number;
  readonly #stop = new AbortController();
  readonly #wakeup: Wakeup;
  readonly #updater: NodeStatusUpdater;
  readonly #lease: NodeLease;
  readonly #cluster: ClusterIdentity;
  readonly #registered = Promise.withResolvers<void>();
  readonly #latency: StartupLatency;
  readonly #newest = new SharedFetch(() => this.#fetch());
  #bootedAtMs = 0;
  #needsRegistration: boolean;
  #isReported = false;
  /** As it was when the status was last looked at; null: it was not yet. */
  #wasWell: boolean | null = null;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(options: ClusterNodeOptions) {
    const { client, local, config, clock, logger, onRepeatedHeartbeatFailure, random = Math.random } = options;
    this.#options = options;
    this.#random = random;
    this.#needsRegistration = config.registerNode;
    // It may end with the kubelet before anybody waits for it.
    options.podsSeen.catch(() => {});
    this.#wakeup = new Wakeup(clock);
    // Upstream's: a heartbeat that takes longer than until the next one is none.
    this.#deadlineMs = Math.min(config.nodeStatusUpdateFrequency, config.nodeLeaseDurationSeconds * 1000);
    const { nodeName } = local;
    const common = { client, nodeName, clock, random, logger };
    this.store = NodeStore.start(common);
    const heartbeats = { ...common, deadlineMs: this.#deadlineMs, onRepeatedHeartbeatFailure };
    this.#updater = new NodeStatusUpdater({
      ...heartbeats,
      store: this.store,
      refresh: () => local.refresh(),
      compute: (node) => local.compute(node),
      record: (event) => this.#record(event),
      onReported: (node) => this.#onReported(node),
      reportFrequencyMs: config.nodeStatusReportFrequency,
    });
    const kubeletStartedAtMs = clock.now() - process.uptime() * 1000;
    this.#latency = new StartupLatency({ clock, bootedAtMs: () => this.#bootedAtMs, kubeletStartedAtMs });
    this.#cluster = new ClusterIdentity({ client, logger, deadlineMs: this.#deadlineMs });
    this.#lease = new NodeLease({
      ...heartbeats,
      durationSeconds: config.nodeLeaseDurationSeconds,
      nodeUID: () => this.store.get()?.metadata.uid ?? null,
    });
  }

  /** Goes on by itself: a server that is not there is waited for. */
  static start(options: ClusterNodeOptions): ClusterNode {
    const membership = new ClusterNode(options);
    membership.#record({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    membership.store.onChange((change) => membership.#onNodeChange(change));
    const { signal } = membership.#stop;
    void readFile('/proc/stat', 'utf8').then(
      (text) => (membership.#bootedAtMs = parseBootTime(text) * 1000),
      () => {},
    );
    membership.#running = Promise.all([membership.#run(signal), membership.#followReadiness(signal), membership.#lease.run(signal)]);
    return membership;
  }

  /** Resolves when the Node is there at the API server, made by this kubelet or, without registerNode, by another. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  /** The Node as the API server has it; else as this kubelet would register it. For admission and fieldRef. */
  node(): Node {
    return this.store.get() ?? this.#options.local.node();
  }

  /** The Node as the server has it now, for a decision that the one last seen speaks against. Rejects with ApiError. */
  fetch(): Promise<Node> {
    return this.#newest.get();
  }

  /** Of the Node as the API server has it, primary first; empty: not known yet. */
  hostIPs(): string[] {
    return nodeHostIPs(this.store.get()?.status?.addresses);
  }

  /** What the status is made of may have changed: readiness, pressures, volumes in use. It is looked at now. */
  wake(): void {
    this.#wakeup.wake();
  }

  /** The Node and its lease stay: that the kubelet is gone is seen by the lease's end. */
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
    // Registered without them, as upstream while its cache of images is empty; the next status has them.
    if (!local.hasImages) void local.untilImagesKnown().then(() => this.wake());
    while (!signal.aborted) {
      try {
        if (this.#needsRegistration) await this.#register(signal);
        await this.#untilPodsSeen(signal);
        this.#wasWell = this.#isWell();
        await this.#updater.update(signal);
        if (this.#updater.isMissing) await this.#lookForNewCluster(signal);
        else await this.#cluster.recordUID(signal);
      } catch (err) {
        if (!signal.aborted) logger.error({ err }, 'Keeping the node up to date failed, will try again');
      }
      await this.#wakeup.next(withJitter(config.nodeStatusUpdateFrequency, updateJitter, this.#random), signal);
    }
  }

  /** Not for ever: a runtime that does not tell its pods makes no node ready. */
  async #untilPodsSeen(signal: AbortSignal): Promise<void> {
    if (this.#wasWell !== null) return;
    const { podsSeen, clock, config } = this.#options;
    const seen = new AbortController();
    const stopWaiting = () => seen.abort();
    podsSeen.then(stopWaiting, stopWaiting);
    await clock.sleep(config.nodeStatusUpdateFrequency, AbortSignal.any([signal, seen.signal])).catch(() => {});
  }

  /** Who changes it does not always say so: a thread that hangs can't. */
  async #followReadiness(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(this.#wasWell === false ? readinessPeriodMs.unwell : readinessPeriodMs.well, signal).catch(() => {});
      if (this.#wasWell !== null && this.#wasWell !== this.#isWell()) this.wake();
    }
  }

  #isWell(): boolean {
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
        refresh: () => local.refresh(),
        resetExtendedResources,
        getWhenForbidden: !featureGates.enabled('KubeletRegistrationGetOnExistsOnly'),
        deadlineMs: this.#deadlineMs,
        clock,
        random: this.#random,
        logger,
      },
      signal,
    );
    // As soon as the Node is there, it is known whose it is: that cluster may begin anew at any time.
    const [registered] = await Promise.all([registering, this.#cluster.recordUID(signal)]);
    this.#needsRegistration = false;
    if (registered.isNew) this.#latency.markRegistered();
    this.store.observe(registered.node);
    for (const event of registered.initial.events) this.#record(event);
    this.#registered.resolve();
    this.#lease.wake();
  }

  #onNodeChange(change: NodeChange): void {
    if (change === 'changed') this.#registered.resolve();
    // The first time it is seen, and when it is gone; otherwise it is mostly our own write that is seen.
    if (change === 'changed' && this.#isReported) return;
    this.wake();
    this.#lease.wake();
  }

  /**
   * A Node that was deleted stays deleted: whoever did it meant it, and a kubelet that is to come back is started again, as upstream.
   * But one that is missing because its cluster began anew is registered there.
   */
  async #lookForNewCluster(signal: AbortSignal): Promise<void> {
    const { config, logger } = this.#options;
    this.#isReported = false;
    if (!config.registerNode || !(await this.#cluster.hasChanged(signal))) return;
    logger.warn('The cluster began anew: registering the node again');
    this.store.reset();
    this.#needsRegistration = true;
    this.wake();
  }

  #onReported(node: Node): void {
    this.#isReported = true;
    if (isReady(node)) this.#latency.markReady();
  }

  #record({ type, reason, message }: NodeEvent): void {
    const { events, local } = this.#options;
    events.record({ object: nodeReference(local.nodeName), type, reason, message });
  }
}

/** The device manager writes its checkpoint as soon as a device plugin has registered; a node that was made anew has none. */
async function isWithoutDeviceCheckpoint(rootDir: string): Promise<boolean> {
  const checkpoint = join(rootDir, 'device-plugins', 'kubelet_internal_checkpoint');
  return access(checkpoint).then(
    () => false,
    () => true,
  );
}
