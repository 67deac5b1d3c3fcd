/**
 * Computes the status of the Node from all inputs and the API server's Node. Pure: every input is an argument, every effect is in the result.
 * Upstream: setNodeStatus and its setters.
 */
import type { RuntimeImage } from '../../../shared/contracts/images.ts';
import type { RuntimeInfo } from '../../../shared/contracts/pleg.ts';
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import { computeAddresses, type AddressInputs } from '../addresses/node-addresses.ts';
import { computeConditions, type Pressures } from './node-conditions.ts';
import { nodeImages, nodeSystemInfo, runtimeHandlers } from './node-system-info.ts';
import { providedNodeIPAnnotation, type Node, type NodeEvent, type NodeStatus } from '../node-object.ts';
import { allocatableList, capacityList, type ResourceSettings } from './node-capacity.ts';

/** All inputs of the status. */
export interface NodeStatusInputs extends AddressInputs {
  readonly nowMs: number;
  readonly machine: MachineInfo;
  readonly resources: ResourceSettings;
  /** Null: the runtime has not responded yet. */
  readonly runtime: RuntimeInfo | null;
  /** Null: not known. The Node keeps its images. */
  readonly images: readonly RuntimeImage[] | null;
  readonly maxImages: number;
  readonly kubeletPort: number;
  readonly pressures: Pressures;
  readonly problems: readonly string[];
  readonly softRequirementErrors: readonly string[];
  /** Null: not known yet, while mounted volumes are discovered after a start. The Node keeps its list. */
  readonly volumesInUse: readonly string[] | null;
  readonly declaredFeatures: readonly string[] | null;
  /** Undefined: the gate KubeletInUserNamespace is off. */
  readonly inUserNamespace: boolean | undefined;
}

export interface ComputedNode {
  readonly node: Node;
  /** Recorded after the server has accepted the status. */
  readonly events: readonly NodeEvent[];
  /** True if the machine was rebooted since the status was last written. */
  readonly hasRebooted: boolean;
  /** Inputs that could not be determined, as messages. */
  readonly failures: readonly string[];
}

export function computeNode(node: Node, inputs: NodeStatusInputs): ComputedNode {
  const { machine, runtime, resources } = inputs;
  const previousStatus: NodeStatus = node.status ?? {};
  const { addresses = previousStatus.addresses, providedNodeIP, problem } = computeAddresses(previousStatus, inputs);
  const capacity = capacityList(previousStatus.capacity ?? {}, machine, resources);
  const { conditions, events } = computeConditions(previousStatus.conditions ?? [], {
    now: toApiTime(inputs.nowMs),
    nodeName: inputs.nodeName,
    pressures: inputs.pressures,
    problems: inputs.problems,
    softRequirementErrors: inputs.softRequirementErrors,
    capacity,
    localStorageCapacityIsolation: resources.localStorageCapacityIsolation,
  });
  const bootID = previousStatus.nodeInfo?.bootID ?? '';
  const hasRebooted = bootID !== '' && bootID !== machine.bootID;
  const status: NodeStatus = {
    ...previousStatus,
    ...(addresses ? { addresses } : {}),
    capacity,
    allocatable: allocatableList(previousStatus.allocatable ?? {}, capacity, resources),
    nodeInfo: nodeSystemInfo(previousStatus.nodeInfo, machine, runtime, inputs.inUserNamespace),
    daemonEndpoints: { kubeletEndpoint: { Port: inputs.kubeletPort } },
    ...(inputs.images ? { images: nodeImages(inputs.images, inputs.maxImages) } : {}),
    ...(runtime ? { runtimeHandlers: runtimeHandlers(runtime) } : {}),
    ...(runtime?.features ? { features: { supplementalGroupsPolicy: runtime.features.supplementalGroupsPolicy } } : {}),
    conditions,
    ...(inputs.volumesInUse ? { volumesInUse: [...inputs.volumesInUse].sort() } : {}),
    ...(inputs.declaredFeatures ? { declaredFeatures: inputs.declaredFeatures } : {}),
  };
  return {
    node: { ...node, metadata: withProvidedNodeIP(node.metadata, providedNodeIP), status },
    events: [...(hasRebooted ? [rebootedEvent(inputs)] : []), ...events],
    hasRebooted,
    failures: problem === undefined ? [] : [problem],
  };
}

function rebootedEvent({ nodeName, machine }: NodeStatusInputs): NodeEvent {
  return { type: 'Warning', reason: 'Rebooted', message: `Node ${nodeName} has been rebooted, boot id: ${machine.bootID}` };
}

function withProvidedNodeIP(metadata: Node['metadata'], value: string | null | undefined): Node['metadata'] {
  if (value === undefined) return metadata;
  const { [providedNodeIPAnnotation]: existing, ...others } = metadata.annotations ?? {};
  if (value === null) return existing === undefined ? metadata : { ...metadata, annotations: others };
  return { ...metadata, annotations: { ...others, [providedNodeIPAnnotation]: value } };
}
