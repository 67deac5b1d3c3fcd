/**
 * The information about the node that a pod sync and a pod's status need, such as addresses and allocatable. Each task gets the current ones. Until
 * the runtime has answered, parts get `unknownNodeInfo`, which has only the node's name.
 */
import type { NodeInfo, NodeResources } from '../../shared/contracts/node-info.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { LocalNodeStatus } from './status/local-node-status.ts';
import type { RuntimeState } from './status/runtime-state.ts';

/** What the information is read from. */
export interface NodeInfoParts {
  readonly nodeName: string;
  /** The addresses of the host are known. */
  readonly local: Pick<LocalNodeStatus, 'hostIPs' | 'refreshNetwork'>;
  /** The addresses of the Node in the API server, including those of a cloud provider. Empty: not known yet, so the host's own are used. */
  readonly registeredHostIPs?: () => readonly string[];
  readonly resources: () => { readonly capacity: NodeResources; readonly allocatable: NodeResources };
  readonly runtimeState: Pick<RuntimeState, 'networkErrors' | 'info'>;
  readonly clock: Clock;
}

/** Limits the delay until a changed address is noticed. Equals upstream's nodeStatusUpdateFrequency. */
const refreshPeriodMs = 10_000;

const unknownResources: NodeResources = { milliCPU: 0, memoryBytes: 0, ephemeralStorageBytes: 0, pods: 0 };

export class NodeInfoSource {
  readonly #parts: NodeInfoParts;

  constructor(parts: NodeInfoParts) {
    this.#parts = parts;
  }

  current(): NodeInfo {
    const { nodeName, local, resources, runtimeState, registeredHostIPs } = this.#parts;
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
    const { local, registeredHostIPs, clock } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(refreshPeriodMs, signal).catch(() => {});
      if (!signal.aborted && !registeredHostIPs?.().length) await local.refreshNetwork();
    }
  }
}

export function unknownNodeInfo(nodeName: string): NodeInfo {
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
