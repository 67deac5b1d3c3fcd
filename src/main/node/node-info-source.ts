/** The information about the node that a pod sync needs, such as addresses and allocatable. Each task gets the current ones. */
import type { NodeInfo, NodeResources } from '../../shared/contracts/node-info.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { LocalNodeStatus } from './status/local-node-status.ts';
import type { RuntimeState } from './status/runtime-state.ts';

export interface NodeInfoSourceOptions {
  readonly nodeName: string;
  readonly local: Pick<LocalNodeStatus, 'hostIPs' | 'refreshNetwork' | 'untilNetworkKnown'>;
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

  private constructor(options: NodeInfoSourceOptions) {
    this.#options = options;
  }

  static async start(options: NodeInfoSourceOptions): Promise<NodeInfoSource> {
    await options.local.untilNetworkKnown();
    return new NodeInfoSource(options);
  }

  current(): NodeInfo {
    const { nodeName, local, resources, runtimeState } = this.#options;
    const networkProblem = runtimeState.networkErrors();
    const registered = this.#options.registeredHostIPs?.() ?? [];
    return {
      nodeName,
      hostname: nodeName,
      hostIPs: registered.length > 0 ? registered : local.hostIPs(),
      ...resources(),
      runtimeName: runtimeState.info?.runtimeName ?? '',
      runtimeVersion: runtimeState.info?.runtimeVersion ?? '',
      runtimeHandlers: runtimeState.info?.handlers ?? [],
      networkReady: networkProblem === null,
      networkNotReadyMessage: networkProblem ?? '',
    };
  }

  /** Refreshes the host's addresses periodically until the signal aborts, while the Node in the API server has none. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(refreshPeriodMs, signal).catch(() => {});
      if (!signal.aborted && !this.#options.registeredHostIPs?.().length) await this.#options.local.refreshNetwork();
    }
  }
}
