/** Schema of the pod status that the API server stores. A newer server may send more fields. */
import { resourceRequirements } from './containers.ts';
import { always, bool, int32, int64, list, map, pointer, quantity, struct, text, time } from './types.ts';

const condition = struct({
  type: always(text),
  status: always(text),
  observedGeneration: int64,
  lastProbeTime: pointer(time),
  lastTransitionTime: pointer(time),
  reason: text,
  message: text,
});
const terminated = struct({
  exitCode: always(int32),
  signal: int32,
  reason: text,
  message: text,
  startedAt: pointer(time),
  finishedAt: pointer(time),
  containerID: text,
});
const containerState = struct({
  waiting: pointer(struct({ reason: text, message: text })),
  running: pointer(struct({ startedAt: pointer(time) })),
  terminated: pointer(terminated),
});
const mountStatus = struct({
  name: always(text),
  mountPath: always(text),
  readOnly: bool,
  recursiveReadOnly: pointer(text),
  volumeStatus: pointer(struct({ image: pointer(struct({ imageRef: always(text) })) })),
});
const containerUser = struct({
  linux: pointer(struct({ uid: always(int64), gid: always(int64), supplementalGroups: list(int64) })),
});
const resourceStatus = struct({
  name: always(text),
  resources: list(struct({ resourceID: always(text), health: text, message: pointer(text) })),
});
const containerStatus = struct({
  name: always(text),
  state: containerState,
  lastState: containerState,
  ready: always(bool),
  restartCount: always(int32),
  image: always(text),
  imageID: always(text),
  containerID: text,
  started: pointer(bool),
  allocatedResources: map(quantity),
  resources: pointer(resourceRequirements),
  volumeMounts: list(mountStatus),
  user: pointer(containerUser),
  allocatedResourcesStatus: list(resourceStatus),
  stopSignal: pointer(text),
});
const address = struct({ ip: text });
const resourceClaimStatus = struct({
  name: always(text),
  resourceClaimName: pointer(text),
});
const extendedResourceClaimStatus = struct({
  requestMappings: list(struct({ containerName: always(text), resourceName: always(text), requestName: always(text) })),
  resourceClaimName: always(text),
});
const nodeAllocatableResourceClaimStatus = struct({
  resourceClaimName: always(text),
  containers: list(text),
  resources: map(quantity),
});
const podVolumeHealth = struct({
  name: always(text),
  healthConditions: list(struct({ status: always(text), reason: always(text), message: text })),
  lastTransitionTime: pointer(time),
});

export const podStatus = struct({
  observedGeneration: int64,
  phase: text,
  conditions: list(condition),
  message: text,
  reason: text,
  nominatedNodeName: text,
  hostIP: text,
  hostIPs: list(address),
  podIP: text,
  podIPs: list(address),
  startTime: pointer(time),
  initContainerStatuses: list(containerStatus),
  containerStatuses: list(containerStatus),
  ephemeralContainerStatuses: list(containerStatus),
  qosClass: text,
  resize: text,
  resourceClaimStatuses: list(resourceClaimStatus),
  extendedResourceClaimStatus: pointer(extendedResourceClaimStatus),
  nodeAllocatableResourceClaimStatuses: list(nodeAllocatableResourceClaimStatus),
  allocatedResources: map(quantity),
  resources: pointer(resourceRequirements),
  volumeHealth: list(podVolumeHealth),
});
