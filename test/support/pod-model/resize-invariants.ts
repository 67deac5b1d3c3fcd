/** What must hold for resizes at the end of a history: checkpoints, containers, cgroups and statuses agree, and only what does not fit is pending. */
import { isDeepStrictEqual } from 'node:util';
import { withAllocation, type PodAllocation, type RecordedResources } from '../../../src/main/allocation/pod-allocation.ts';
import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { isCriticalPod } from '../../../src/shared/kubernetes/critical-pod.ts';
import { memoryLimitsOf } from '../../../src/shared/kubernetes/memory-volumes.ts';
import { podRequests } from '../../../src/shared/kubernetes/pod-resources.ts';
import { milliValue, value } from '../../../src/shared/kubernetes/quantity.ts';
import { isSameResizable, resizableResources, withPodLimits } from '../../../src/shared/kubernetes/resizable-resources.ts';
import { containerResources } from '../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aNode, someHostInfo } from '../pods/runtime-config-inputs.ts';
import { Life } from './model-clock.ts';
import { settingsOf } from './model-host.ts';
import type { ModelMachine, RoomForPods } from './model-machine.ts';
import type { ModelVolumes } from './model-volumes.ts';
import { modelGates, requestsOf } from './resize-excesses.ts';
import type { ModelCgroups } from './model-cgroups.ts';
import type { ModelCheckpoints } from './model-checkpoints.ts';
import { toModelResources, type ModelContainer, type ModelResources, type ModelRuntime } from './model-runtime.ts';

export interface ResizedPods {
  readonly pods: readonly Pod[];
  readonly machine: ModelMachine;
  readonly volumes: ModelVolumes;
  readonly runtime: ModelRuntime;
  readonly cgroups: ModelCgroups;
  readonly checkpoints: ModelCheckpoints;
}

export async function findResizeDifferences(node: ResizedPods): Promise<readonly string[]> {
  const allocated = node.checkpoints.read('allocated_pods_state');
  const actuated = node.checkpoints.read('actuated_pods_state');
  const differences: string[] = [];
  for (const pod of node.pods) {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp || isEnded(pod)) continue;
    const allocation = allocated.get(uid);
    const running = node.runtime.running().filter(({ sandbox }) => sandbox.podUID === uid);
    if (!allocation) {
      // A static pod may have been rejected, and has no status here.
      if (pod.status?.conditions || running.length > 0) differences.push(`${uid} has no allocation`);
      continue;
    }
    const allocatedPod = withAllocation(pod, allocation, modelGates);
    const found = [
      ...running.flatMap((container) => differencesOf(node, container, allocatedPod, actuated.get(uid))),
      ...(running.length > 0 ? volumeDifferences(node, allocatedPod) : []),
      // What only a container that has ended for good asks for is not brought into force, as upstream.
      ...(running.length > 0 && pod.spec.restartPolicy === 'Always' ? await cgroupDifferences(node, allocatedPod) : []),
      ...conditionDifferences(node, pod, allocatedPod, otherPods(node, allocated, uid)),
    ];
    differences.push(...found.map((line) => `${uid} ${line}`));
  }
  return differences;
}

function differencesOf(node: ResizedPods, running: ModelContainer, pod: Pod, actuated: RecordedResources | undefined): readonly string[] {
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(({ name }) => name === running.name);
  if (!container) return [];
  const settings = settingsOf(node.cgroups.version);
  const wanted = toModelResources(containerResources({ pod, container, settings, node: aNode, hostInfo: someHostInfo }));
  const { resources } = running;
  const isInForce = isDeepStrictEqual(inFiles(resources), inFiles(wanted));
  const record = actuated?.containers.get(running.name);
  const isRecorded = isSame(record, withPodLimits(container.resources ?? {}, pod.spec.resources));
  return [
    ...(isInForce ? [] : [`${running.name} has ${JSON.stringify(resources)} for ${JSON.stringify(wanted)}`]),
    ...(isRecorded ? [] : [`${running.name} is recorded with ${JSON.stringify(record)} for ${JSON.stringify(container.resources)}`]),
    ...statusDifferences(pod, container, running.id),
  ];
}

function statusDifferences({ spec, status = {} }: Pod, { name, resources = {} }: Container, id: string): readonly string[] {
  const inForce = resources.limits ? withPodLimits(resources, spec.resources) : resources;
  const statuses: readonly ContainerStatus[] = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const shown = statuses.find((one) => one.name === name && one.containerID?.endsWith(id));
  // Another invariant shows this.
  if (!shown) return [];
  const isAllocatedShown = isSame({ requests: shown.allocatedResources ?? {} }, { requests: resources.requests ?? {} });
  return [
    ...(isAllocatedShown
      ? []
      : [`${name} shows the allocation ${JSON.stringify(shown.allocatedResources)} for ${JSON.stringify(resources)}`]),
    ...(isSame(shown.resources, inForce) ? [] : [`${name} shows ${JSON.stringify(shown.resources)} for ${JSON.stringify(inForce)}`]),
  ];
}

const inFiles = ({ unified, ...resources }: ModelResources) => ({ ...resources, unified: JSON.parse(unified) as unknown });

function volumeDifferences({ volumes }: ResizedPods, { metadata, spec }: Pod): readonly string[] {
  const sizes = volumes.sizesOf(metadata.uid);
  return [...memoryLimitsOf(spec)].flatMap(([name, size]) =>
    sizes.get(name) === size ? [] : [`has a volume ${name} of ${sizes.get(name)} for ${size}`],
  );
}

async function cgroupDifferences(node: ResizedPods, pod: Pod): Promise<readonly string[]> {
  const values = await node.cgroups.podCgroups(new Life(), settingsOf(node.cgroups.version)).resizableValues(pod);
  if (!values) return [];
  const parts = (['memory', 'quota', 'shares'] as const).map((name) => ({ name, ...values[name] }));
  return [...parts, ...values.unified.map((one) => ({ name: one.file, ...one }))].flatMap(({ name, current, desired = current }) =>
    current === desired ? [] : [`has the pod's ${name} ${current} for ${desired}`],
  );
}

/** @param others what the other pods request */
function conditionDifferences(node: ResizedPods, pod: Pod, allocated: Pod, others: readonly OtherPod[]): readonly string[] {
  const find = (type: string) => pod.status?.conditions?.find((condition) => condition.type === type);
  const [pending, inProgress] = [find('PodResizePending'), find('PodResizeInProgress')];
  const progress = inProgress ? [`is still resized: ${inProgress.message}`] : [];
  if (pod === allocated) return [...progress, ...(pending ? [`is pending without a reason: ${pending.message}`] : [])];
  const isInfeasible = node.cgroups.version === 1 && !isDeepStrictEqual(memoryLimits(pod), memoryLimits(allocated));
  if (isInfeasible) return [...progress, ...(pending?.reason === 'Infeasible' ? [] : [`is ${pending?.reason}, and not infeasible`])];
  const wanted = requestedBy(pod);
  // Others end for a critical pod.
  const isCounted = (other: OtherPod) => !isCriticalPod(pod) || isCriticalPod(other.pod);
  const used = others.filter(isCounted).reduce((sum, { requests }) => addRooms(sum, requests), { cpu: 0, memory: 0 });
  const { room } = node.machine;
  const fits =
    (used.cpu + wanted.cpu <= room.cpu || wanted.cpu <= requestedBy(allocated).cpu) &&
    (used.memory + wanted.memory <= room.memory || wanted.memory <= requestedBy(allocated).memory);
  return [
    ...progress,
    // A static pod has no status here.
    ...(!pending && pod.status?.conditions ? ['is neither allocated nor pending'] : []),
    ...(fits ? [`fits, and is pending: ${pending?.message}`] : []),
  ];
}

interface OtherPod {
  readonly pod: Pod;
  readonly requests: RoomForPods;
}

function otherPods({ pods }: ResizedPods, allocated: ReadonlyMap<string, PodAllocation>, uid: string): readonly OtherPod[] {
  return pods.filter((pod) => pod.metadata.uid !== uid && !isEnded(pod)).map((pod) => ({ pod, requests: requestsOf(pod, allocated) }));
}

function requestedBy(pod: Pod): RoomForPods {
  const requests = podRequests(pod, {});
  return { cpu: milliValue(requests['cpu']), memory: value(requests['memory']) };
}

const addRooms = (a: RoomForPods, b: RoomForPods) => ({ cpu: a.cpu + b.cpu, memory: a.memory + b.memory });
const memoryLimits = ({ spec }: Pod) => [...memoryLimitsOf(spec)];

const isEnded = ({ status }: Pod) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
const isSame = (a: ResourceRequirements | undefined, b: ResourceRequirements) =>
  isSameResizable(resizableResources(a), resizableResources(b));
