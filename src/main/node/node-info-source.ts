/**
 * The information about the node that a pod sync and a pod's status need, such as addresses and allocatable. Each task gets the current ones. The store is
 * created before the parts that read it; it knows only the node's name until the runtime has answered and `start` is called.
 */
import type { NodeInfo, NodeResources } from '../../shared/contracts/node-info.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { LocalNodeStatus } from './status/local-node-status.ts';
import type { RuntimeState } from './status/runtime-state.ts';

/** What the information is read from. */
export interface NodeInfoParts {
  readonly local: Pick<LocalNodeStatus, 'hostIPs' | 'refreshNetwork' | 'untilNetworkKnown'>;
  /** The addresses of the Node in the API server, including those of a cloud provider. Empty: not known yet, so the host's own are used. */
  readonly registeredHostIPs?: () => readonly string[];
  readonly resources: () => { readonly capacity: NodeResources; readonly allocatable: NodeResources };
  readonly runtimeState: RuntimeState;
}

/** Limits the delay until a changed address is noticed. Equals upstream's nodeStatusUpdateFrequency. */
const refreshPeriodMs = 10_000;

const unknownResources: NodeResources = { milliCPU: 0, memoryBytes: 0, ephemeralStorageBytes: 0, pods: 0 };

export class NodeInfoSource {
  readonly #nodeName: string;
  readonly #clock: Clock;
  #parts: NodeInfoParts | null = null;

  constructor(nodeName: string, clock: Clock) {
    this.#nodeName = nodeName;
    this.#clock = clock;
  }

  /** Resolves when the addresses of the host are known. */
  async start(parts: NodeInfoParts): Promise<void> {
    await parts.local.untilNetworkKnown();
    this.#parts = parts;
  }

  current(): NodeInfo {
    const nodeName = this.#nodeName;
    if (!this.#parts) return unknownNode(nodeName);
    const { local, resources, runtimeState, registeredHostIPs } = this.#parts;
    const networkProblem = runtimeState.networkErrors();
    const registered = registeredHostIPs?.() ?? [];
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
      await this.#clock.sleep(refreshPeriodMs, signal).catch(() => {});
      if (!signal.aborted && !this.#parts?.registeredHostIPs?.().length) await this.#parts?.local.refreshNetwork();
    }
  }
}

function unknownNode(nodeName: string): NodeInfo {
  return {
    nodeName,
    hostname: nodeName,
    hostIPs: [],
    capacity: unknownResources,
    allocatable: unknownResources,
    runtimeName: '',
    runtimeVersion: '',
    runtimeHandlers: [],
    networkReady: false,
    networkNotReadyMessage: 'the container runtime has not answered yet',
  };
}
