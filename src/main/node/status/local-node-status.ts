/**
 * This node as the kubelet itself sees it: gathers what its status is made of, and makes the Node from it. Standalone it is all there is
 * of the Node; in a cluster it is what is registered and reported.
 */
import type { ImageFacts } from '../../../shared/contracts/images.ts';
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { FeatureGates } from '../../config/feature-gates.ts';
import type { KubeletConfiguration } from '../../config/kubelet-configuration.ts';
import type { KubeletFlags } from '../../cli/options.ts';
import type { HostNetwork } from '../addresses/addresses.ts';
import type { Pressures } from './conditions.ts';
import { declaredFeatures } from './declared-features.ts';
import { HostNetworkReader } from '../addresses/host-network.ts';
import { defaultLabels, initialNode } from '../registration/initial-node.ts';
import { isUnspecified, parseIP } from '../addresses/ip-address.ts';
import { parseNodeIPs, type NodeIPs } from '../addresses/node-ips.ts';
import type { Node } from '../node-object.ts';
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
  readonly machine: MachineInfo;
  readonly runtimeState: Pick<RuntimeState, 'facts' | 'problems' | 'networkErrors'>;
  /** The images that the runtime has. */
  readonly listImages: () => Promise<readonly ImageFacts[]>;
  /** What other parts know of the node; each may be left out where there is no such part. */
  readonly pressures?: () => Pressures;
  /** Parts of the kubelet that do not live: a sentence each. */
  readonly healthErrors?: () => readonly string[];
  readonly storageErrors?: () => readonly string[];
  /** Null: the node is not shutting down. */
  readonly shutdownError?: () => string | null;
  /** Null: not known yet. */
  readonly volumesInUse?: () => readonly string[] | null;
  /** Default: read from the host. */
  readonly readNetwork?: () => Promise<HostNetwork>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How old the list of images may be in the status (upstream's image manager lists them each 30 s). */
const imagesMaxAgeMs = 30_000;
const noNetwork: HostNetwork = { interfaces: {}, routes: { ipv4: '', ipv6: '' }, resolved: [] };
const noPressure: Pressures = { memory: false, disk: false, pid: false };

export class LocalNodeStatus {
  readonly #options: LocalNodeStatusOptions;
  readonly #nodeIPs: NodeIPs['ips'];
  readonly #readNetwork: () => Promise<HostNetwork>;
  #known: Promise<void> = Promise.resolve();
  /** Null: not looked at yet. */
  #network: HostNetwork | null = null;
  #images: readonly ImageFacts[] | null = null;
  #imagesListedAtMs = -Infinity;
  readonly #imagesKnown = Promise.withResolvers<void>();
  #isListing = false;
  #toldFailures = '';
  /** What `node` answered last, and what that was made of. */
  #own: { node: Node; network: HostNetwork | null; images: readonly ImageFacts[] | null; runtime: RuntimeState['facts'] } | null = null;

  private constructor(options: LocalNodeStatusOptions, nodeIPs: NodeIPs['ips']) {
    const { nodeName, clock } = options;
    this.#options = options;
    this.#nodeIPs = nodeIPs;
    const needsLookup = nodeIPs.every(isUnspecified) && parseIP(nodeName) === null;
    const reader = new HostNetworkReader({ name: needsLookup ? nodeName : null, clock });
    this.#readNetwork = options.readNetwork ?? (() => reader.read());
  }

  /** Begins to look at the host. Throws when `--node-ip` can't be. */
  static start(options: LocalNodeStatusOptions): LocalNodeStatus {
    const { flags, logger, nodeName } = options;
    const { ips, invalid } = parseNodeIPs(flags.nodeIP);
    if (invalid.length > 0) logger.info({ nodeIPs: invalid }, 'Could not parse some node IP(s), ignoring them');
    const defaults = defaultLabels(nodeName);
    for (const [label, value] of Object.entries(flags.nodeLabels)) {
      if (Object.hasOwn(defaults, label)) logger.info({ label, value, default: defaults[label] }, 'The node label overwrites the default');
    }
    const node = new LocalNodeStatus(options, ips);
    node.#known = node.refresh();
    return node;
  }

  /** Its addresses are found out. Before, the Node has all else. */
  untilNetworkKnown(): Promise<void> {
    return this.#known;
  }

  /** The images that the runtime has were listed once. Before, the Node goes without them: a busy runtime may take seconds. */
  untilImagesKnown(): Promise<void> {
    return this.#imagesKnown.promise;
  }
  get hasImages(): boolean {
    return this.#images !== null;
  }

  get nodeName(): string {
    return this.#options.nodeName;
  }

  /** Reads the host's network; asks for the images without waiting for them: the runtime may be the one that hangs. */
  async refresh(): Promise<void> {
    if (this.#options.clock.monotonic() - this.#imagesListedAtMs >= imagesMaxAgeMs) void this.#listImages();
    this.#network = await this.#readNetwork();
  }

  /**
   * As it would be registered, for those who ask with every pod: made anew only when something else is known of the network, the images or
   * the runtime. How the node is (its conditions) may have changed since.
   */
  node(): Node {
    const { facts } = this.#options.runtimeState;
    const own = this.#own;
    if (own?.network === this.#network && own.images === this.#images && own.runtime === facts) return own.node;
    const { node } = this.initialNode();
    this.#own = { node, network: this.#network, images: this.#images, runtime: facts };
    return node;
  }

  /** As it is registered, with its whole status as it is now. */
  initialNode(): ComputedNode {
    const { nodeName, config, flags } = this.#options;
    const bare = initialNode({
      nodeName,
      hostname: nodeName,
      labels: flags.nodeLabels,
      taints: config.registerWithTaints,
      providerID: config.providerID,
      externalCloudProvider: this.#hasExternalCloud,
      enableControllerAttachDetach: config.enableControllerAttachDetach,
    });
    return this.compute(bare);
  }

  /** Why it is not ready, in upstream's order. */
  problems(): string[] {
    const { runtimeState, healthErrors, storageErrors, shutdownError } = this.#options;
    return [
      ...runtimeState.problems(),
      ...(healthErrors?.() ?? []),
      ...present(runtimeState.networkErrors()),
      ...(storageErrors?.() ?? []),
      ...present(shutdownError?.() ?? null),
    ];
  }

  /** The Node with the status that it has now, over what the API server has of it. */
  compute(node: Node): ComputedNode {
    const { nodeName, config, flags, featureGates, machine, runtimeState, clock } = this.#options;
    const { pressures, volumesInUse } = this.#options;
    const computed = computeNode(node, {
      nowMs: clock.now(),
      nodeName,
      hostname: nodeName,
      nodeIPs: this.#nodeIPs,
      externalCloudProvider: this.#hasExternalCloud,
      network: this.#network ?? noNetwork,
      machine,
      resources: resourceSettings(config, flags),
      runtime: runtimeState.facts,
      images: this.#images,
      maxImages: config.nodeStatusMaxImages,
      kubeletPort: config.port,
      pressures: pressures?.() ?? noPressure,
      problems: this.problems(),
      volumesInUse: volumesInUse?.() ?? null,
      declaredFeatures: declaredFeatures(featureGates),
    });
    if (this.#network) this.#tell(computed.failures);
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
      this.#options.logger.warn({ err: messageOf(err) }, 'Listing the images for the node status failed; the last list stays');
    }
    this.#imagesListedAtMs = this.#options.clock.monotonic();
    this.#isListing = false;
  }

  /** Once for each change: the status is made every ten seconds. */
  #tell(failures: readonly string[]): void {
    const text = failures.join('; ');
    if (text !== '' && text !== this.#toldFailures) this.#options.logger.error({ err: text }, 'Failed to set some node status fields');
    this.#toldFailures = text;
  }
}

function present(error: string | null): string[] {
  return error === null ? [] : [error];
}
