/** The information about the node that a pod sync needs, such as addresses and allocatable. Each task gets the current ones. */
import type { NodeInfo, NodeResources } from '../../shared/contracts/node-info.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { hostIPs } from './addresses/host-ips.ts';
import { HostNetworkReader } from './addresses/host-network-reader.ts';
import type { RuntimeState } from './status/runtime-state.ts';

export interface NodeInfoSourceOptions {
  readonly nodeName: string;
  /** The flag `--node-ip`. Empty: the address is detected. */
  readonly nodeIP: string;
  /** The addresses of the Node in the API server, including those of a cloud provider. Empty: not known yet, so the host's own are used. */
  readonly registeredHostIPs?: () => readonly string[];
  readonly resources: () => { readonly capacity: NodeResources; readonly allocatable: NodeResources };
  readonly runtimeState: RuntimeState;
  readonly clock: Clock;
}

/** Limits the delay until a changed address is noticed. Equals upstream's nodeStatusUpdateFrequency. */
const refreshPeriodMs = 10_000;

export class NodeInfoSource {
  readonly #options: NodeInfoSourceOptions;
  readonly #network: HostNetworkReader;
  #hostIPs: readonly string[] = [];

  private constructor(options: NodeInfoSourceOptions) {
    this.#options = options;
    this.#network = new HostNetworkReader({ name: null, clock: options.clock });
  }

  static async start(options: NodeInfoSourceOptions): Promise<NodeInfoSource> {
    const source = new NodeInfoSource(options);
    await source.#refresh();
    return source;
  }

  current(): NodeInfo {
    const { nodeName, resources, runtimeState } = this.#options;
    const networkProblem = runtimeState.networkErrors();
    const registered = this.#options.registeredHostIPs?.() ?? [];
    return {
      nodeName,
      hostname: nodeName,
      hostIPs: registered.length > 0 ? registered : this.#hostIPs,
      ...resources(),
      runtimeName: runtimeState.info?.runtimeName ?? '',
      runtimeVersion: runtimeState.info?.runtimeVersion ?? '',
      runtimeHandlers: runtimeState.info?.handlers ?? [],
      networkReady: networkProblem === null,
      networkNotReadyMessage: networkProblem ?? '',
    };
  }

  /** Refreshes the host's addresses periodically until the signal aborts. */
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
