/**
 * Computes this node's Node object and status from the host's network, the machine, the runtime, the images and the configuration. Standalone
 * the result is the only Node; in a cluster `ClusterNode` registers and reports it.
 */
import type { RuntimeImage } from '../../../shared/contracts/images.ts';
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { FeatureGates } from '../../config/feature-gates.ts';
import type { KubeletConfiguration } from '../../config/kubelet-configuration.ts';
import type { KubeletFlags } from '../../config/options.ts';
import { localHostIPs, type HostNetwork } from '../addresses/node-addresses.ts';
import type { Pressures } from './node-conditions.ts';
import { declaredFeatures } from './declared-features.ts';
import { HostNetworkReader } from '../addresses/host-network-reader.ts';
import { defaultLabels, initialNode } from '../registration/initial-node.ts';
import { isInitialUserNamespace } from '../../../shared/linux/user-namespace.ts';
import { isUnspecified, parseIP } from '../addresses/ip-address.ts';
import { parseNodeIPs, type NodeIPs } from '../addresses/node-ips.ts';
import type { Node, NodeStatus } from '../node-object.ts';
import { resourceSettings } from './node-capacity.ts';
import { computeNode, type ComputedNode } from './node-status.ts';
import type { RuntimeState } from './runtime-state.ts';

export interface LocalNodeStatusOptions {
  readonly nodeName: string;
  readonly config: Pick<
    KubeletConfiguration,
    | 'port'
    | 'registerWithTaints'
    | 'providerID'
    | 'enableControllerAttachDetach'
    | 'nodeStatusMaxImages'
    | 'systemReserved'
    | 'kubeReserved'
    | 'evictionHard'
    | 'maxPods'
    | 'podsPerCore'
    | 'localStorageCapacityIsolation'
  >;
  readonly flags: Pick<KubeletFlags, 'nodeIP' | 'cloudProvider' | 'nodeLabels' | 'experimentalAllocatableIgnoreEviction'>;
  readonly featureGates: FeatureGates;
  /** The same object while the machine has not changed. */
  readonly machine: () => MachineInfo;
  readonly runtimeState: Pick<RuntimeState, 'info' | 'problems' | 'networkErrors'>;
  /** Lists the runtime's images. */
  readonly listImages: () => Promise<readonly RuntimeImage[]>;
  /**
   * `pressures`, `healthErrors`, `storageErrors`, `shutdownError` and `volumesInUse` return the state of other components. Each is absent if
   * its component does not run.
   */
  readonly pressures?: () => Pressures;
  /** One sentence per unhealthy component of the kubelet. */
  readonly healthErrors?: () => readonly string[];
  readonly storageErrors?: () => readonly string[];
  /** Why the host could not be set up: the node is never ready. */
  readonly setupErrors?: readonly string[];
  /** What the host lacks although the node can be ready without it. Default: none. */
  readonly softRequirementErrors?: readonly string[];
  /** Null: the node is not shutting down. */
  readonly shutdownError?: () => string | null;
  /** Null: the Node keeps its list. */
  readonly volumesInUse?: (status: NodeStatus) => readonly string[] | null;
  /** Called before each status. Never rejects. */
  readonly refreshVolumes?: (listed: readonly string[]) => Promise<void>;
  /** Default: read from the host. */
  readonly readNetwork?: () => Promise<HostNetwork>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The maximum age of the image list in the status. Upstream's image manager lists images every 30 s. */
const imagesMaxAgeMs = 30_000;
const noNetwork: HostNetwork = { interfaces: [], routes: { ipv4: '', ipv6: '' }, resolved: [] };
const noPressure: Pressures = { memory: false, disk: false, pid: false };

export class LocalNodeStatus {
  readonly #options: LocalNodeStatusOptions;
  readonly #nodeIPs: NodeIPs['ips'];
  readonly #readNetwork: () => Promise<HostNetwork>;
  /** Read once: the process stays in its user namespace. */
  readonly #inUserNamespace = !isInitialUserNamespace();
  #networkKnown: Promise<void> = Promise.resolve();
  /** Null: not read yet. */
  #network: HostNetwork | null = null;
  #hostIPs: readonly string[] = [];
  #images: readonly RuntimeImage[] | null = null;
  #imagesListedAtMs = -Infinity;
  readonly #imagesKnown = Promise.withResolvers<void>();
  #isListing = false;
  #loggedFailures = '';
  /** The last result of `node()` and the inputs that it was computed from. */
  #cachedNode: {
    node: Node;
    network: HostNetwork | null;
    images: readonly RuntimeImage[] | null;
    runtime: RuntimeState['info'];
    machine: MachineInfo;
  } | null = null;

  private constructor(options: LocalNodeStatusOptions, nodeIPs: NodeIPs['ips']) {
    const { nodeName, clock } = options;
    this.#options = options;
    this.#nodeIPs = nodeIPs;
    const needsLookup = nodeIPs.every(isUnspecified) && parseIP(nodeName) === null;
    const reader = new HostNetworkReader({ name: needsLookup ? nodeName : null, clock });
    this.#readNetwork = options.readNetwork ?? (() => reader.read());
  }

  /** Starts reading the host's network. Throws if `--node-ip` is invalid. */
  static start(options: LocalNodeStatusOptions): LocalNodeStatus {
    const { flags, logger, nodeName } = options;
    const { ips, invalid } = parseNodeIPs(flags.nodeIP);
    if (invalid.length > 0) logger.info({ nodeIPs: invalid }, 'Could not parse some node IP(s), ignoring them');
    const defaults = defaultLabels(nodeName);
    for (const [label, value] of Object.entries(flags.nodeLabels)) {
      if (Object.hasOwn(defaults, label)) logger.info({ label, value, default: defaults[label] }, 'The node label overwrites the default');
    }
    const node = new LocalNodeStatus(options, ips);
    node.#networkKnown = node.refresh();
    return node;
  }

  /** Resolves when the addresses are known. Before that, the Node is complete except for them. */
  untilNetworkKnown(): Promise<void> {
    return this.#networkKnown;
  }

  /** Resolves when the images were listed once. Before that, the Node has no images: a busy runtime may take seconds to list them. */
  untilImagesKnown(): Promise<void> {
    return this.#imagesKnown.promise;
  }
  get hasImages(): boolean {
    return this.#images !== null;
  }

  get nodeName(): string {
    return this.#options.nodeName;
  }

  /**
   * Reads the host's network. Starts listing the images but does not wait, because the runtime may hang.
   * @param registered the Node in the API server; null: not known
   */
  async refresh(registered: Node | null = null): Promise<void> {
    if (this.#options.clock.monotonic() - this.#imagesListedAtMs >= imagesMaxAgeMs) void this.#listImages();
    await Promise.all([this.refreshNetwork(), this.#options.refreshVolumes?.(registered?.status?.volumesInUse ?? [])]);
  }

  /** Reads the host's network. Never rejects. */
  async refreshNetwork(): Promise<void> {
    this.#network = await this.#readNetwork();
    this.#hostIPs = localHostIPs({ hostname: this.nodeName, nodeIPs: this.#nodeIPs, network: this.#network });
  }

  /** Returns the addresses of `--node-ip`, else the host's detected one. Empty: the host has none, or the network was not read yet. */
  hostIPs(): readonly string[] {
    return this.#hostIPs;
  }

  /**
   * Returns the Node as it would be registered. Called for every pod, so the Node is recomputed only when the network, the images or the
   * runtime changed. Its conditions may be outdated.
   */
  node(): Node {
    const { info } = this.#options.runtimeState;
    const machine = this.#options.machine();
    const cached = this.#cachedNode;
    const isHostSame = cached?.network === this.#network && cached.machine === machine;
    if (isHostSame && cached.images === this.#images && cached.runtime === info) return cached.node;
    const { node } = this.initialNode();
    this.#cachedNode = { node, network: this.#network, images: this.#images, runtime: info, machine };
    return node;
  }

  /** Returns the Node to register, with its full current status. */
  initialNode(): ComputedNode {
    const { nodeName, config, flags } = this.#options;
    const node = initialNode({
      nodeName,
      hostname: nodeName,
      labels: flags.nodeLabels,
      taints: config.registerWithTaints,
      providerID: config.providerID,
      externalCloudProvider: this.#hasExternalCloud,
      enableControllerAttachDetach: config.enableControllerAttachDetach,
    });
    return this.compute(node);
  }

  /** Returns the reasons for which the node is not ready, in upstream's order. */
  problems(): string[] {
    const { runtimeState, healthErrors, storageErrors, setupErrors, shutdownError } = this.#options;
    return [
      ...runtimeState.problems(),
      ...(healthErrors?.() ?? []),
      ...toList(runtimeState.networkErrors()),
      ...(storageErrors?.() ?? []),
      ...(setupErrors ?? []),
      ...toList(shutdownError?.() ?? null),
    ];
  }

  /** Returns the API server's Node with this node's current status applied. */
  compute(node: Node): ComputedNode {
    const { nodeName, config, flags, featureGates, machine, runtimeState, clock } = this.#options;
    const { pressures, volumesInUse, softRequirementErrors } = this.#options;
    const computed = computeNode(node, {
      nowMs: clock.now(),
      nodeName,
      hostname: nodeName,
      nodeIPs: this.#nodeIPs,
      externalCloudProvider: this.#hasExternalCloud,
      network: this.#network ?? noNetwork,
      machine: machine(),
      resources: resourceSettings(config, flags),
      runtime: runtimeState.info,
      images: this.#images,
      maxImages: config.nodeStatusMaxImages,
      kubeletPort: config.port,
      pressures: pressures?.() ?? noPressure,
      problems: this.problems(),
      softRequirementErrors: softRequirementErrors ?? [],
      volumesInUse: volumesInUse?.(node.status ?? {}) ?? null,
      declaredFeatures: declaredFeatures(featureGates, runtimeState.info),
      inUserNamespace: featureGates.enabled('KubeletInUserNamespace') ? this.#inUserNamespace : undefined,
    });
    if (this.#network) this.#logFailures(computed.failures);
    return computed;
  }

  get #hasExternalCloud(): boolean {
    return this.#options.flags.cloudProvider === 'external';
  }

  async #listImages(): Promise<void> {
    if (this.#isListing) return;
    this.#isListing = true;
    try {
      this.#images = await this.#options.listImages();
      this.#imagesKnown.resolve();
    } catch (err) {
      this.#options.logger.warn({ err: messageOf(err) }, 'Listing the images for the node status failed, keeping the last list');
    }
    this.#imagesListedAtMs = this.#options.clock.monotonic();
    this.#isListing = false;
  }

  /** Logs failures only when they change, because the status is computed every ten seconds. */
  #logFailures(failures: readonly string[]): void {
    const text = failures.join('; ');
    if (text !== '' && text !== this.#loggedFailures) this.#options.logger.error({ err: text }, 'Failed to set some node status fields');
    this.#loggedFailures = text;
  }
}

function toList(error: string | null): string[] {
  return error === null ? [] : [error];
}
