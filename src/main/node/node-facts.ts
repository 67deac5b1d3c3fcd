/** The node as a sync must know it, kept up to date: each task is sent what holds when it is sent. */
import type { NodeFacts, NodeResources } from '../../shared/contracts/node-facts.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { hostIPs } from './addresses/host-ips.ts';
import { HostNetworkReader } from './addresses/host-network.ts';
import type { RuntimeState } from './status/runtime-state.ts';

export interface NodeFactsOptions {
  readonly nodeName: string;
  /** `--node-ip`; empty: found out. */
  readonly nodeIP: string;
  /** The addresses of the Node as the API server has it, a cloud provider's too; empty: not known, and found out here. */
  readonly registeredHostIPs?: () => readonly string[];
  readonly capacity: NodeResources;
  readonly allocatable: NodeResources;
  readonly runtimeState: RuntimeState;
  readonly clock: Clock;
}

/** Upstream's nodeStatusUpdateFrequency: how soon a changed address is seen. */
const refreshPeriodMs = 10_000;

export class NodeFactsSource {
  readonly #options: NodeFactsOptions;
  readonly #network: HostNetworkReader;
  #hostIPs: readonly string[] = [];

  private constructor(options: NodeFactsOptions) {
    this.#options = options;
    this.#network = new HostNetworkReader({ name: null, clock: options.clock });
  }

  static async start(options: NodeFactsOptions): Promise<NodeFactsSource> {
    const source = new NodeFactsSource(options);
    await source.#refresh();
    return source;
  }

  current(): NodeFacts {
    const { nodeName, capacity, allocatable, runtimeState } = this.#options;
    const networkProblem = runtimeState.networkErrors();
    const registered = this.#options.registeredHostIPs?.() ?? [];
    return {
      nodeName,
      hostname: nodeName,
      hostIPs: registered.length > 0 ? registered : this.#hostIPs,
      capacity,
      allocatable,
      runtimeName: runtimeState.facts?.runtimeName ?? '',
      runtimeVersion: runtimeState.facts?.runtimeVersion ?? '',
      runtimeHandlers: runtimeState.facts?.handlers ?? [],
      networkReady: networkProblem === null,
      networkNotReadyMessage: networkProblem ?? '',
    };
  }

  /** Follows the host's addresses until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(refreshPeriodMs, signal).catch(() => {});
      if (!signal.aborted) await this.#refresh();
    }
  }

  async #refresh(): Promise<void> {
    const { interfaces, routes } = await this.#network.read();
    this.#hostIPs = hostIPs(this.#options.nodeIP, interfaces, routes);
  }
}
