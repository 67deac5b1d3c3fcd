/** What must hold for resizes at the end of a history: checkpoints, containers, cgroups and statuses agree, and only what does not fit is pending. */
import { withAllocation, type PodAllocation } from '../../../src/main/allocation/pod-allocation.ts';
import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { podRequests } from '../../../src/shared/kubernetes/pod-resources.ts';
import { milliValue, value } from '../../../src/shared/kubernetes/quantity.ts';
import { isSameResizable, resizableResources, withPodLimits } from '../../../src/shared/kubernetes/resizable-resources.ts';
import { containerResources } from '../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aNode, someHostInfo, someSettings } from '../pods/runtime-config-inputs.ts';
import { Life } from './model-clock.ts';
import { allocatable } from './model-host.ts';
import type { ModelApi } from './model-api.ts';
import type { ModelCgroups } from './model-cgroups.ts';
import type { ModelCheckpoints } from './model-checkpoints.ts';
import type { ModelContainer, ModelRuntime } from './model-runtime.ts';

export interface ResizedPods {
  readonly api: ModelApi;
  readonly runtime: ModelRuntime;
  readonly cgroups: ModelCgroups;
  readonly checkpoints: ModelCheckpoints;
}

const gates = { podLevel: true, initContainers: true };

export async function findResizeDifferences(node: ResizedPods): Promise<readonly string[]> {
  const allocated = node.checkpoints.read('allocated_pods_state');
  const actuated = node.checkpoints.read('actuated_pods_state');
  const differences: string[] = [];
  for (const pod of node.api.pods.pods.values()) {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp || isEnded(pod)) continue;
    const allocation = allocated.get(uid);
    if (!allocation) {
      differences.push(`${uid} has no allocation`);
      continue;
    }
    const running = node.runtime.running().filter(({ sandbox }) => sandbox.podUID === uid);
    const allocatedPod = withAllocation(pod, allocation, gates);
    const found = [
      ...running.flatMap((container) => differencesOf(container, allocatedPod, actuated.get(uid))),
      ...(running.length > 0 ? await cgroupDifferences(node, allocatedPod) : []),
      ...conditionDifferences(pod, allocatedPod, otherRequests(node, allocated, uid)),
    ];
    differences.push(...found.map((line) => `${uid} ${line}`));
  }
  return differences;
}

function differencesOf(running: ModelContainer, pod: Pod, actuated: PodAllocation | undefined): readonly string[] {
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(({ name }) => name === running.name);
  if (!container) return [];
  const { memoryLimitInBytes, cpuQuota, cpuShares } = containerResources({
    pod,
    container,
    settings: someSettings,
    node: aNode,
    hostInfo: someHostInfo,
  });
  const wanted = { memoryLimit: Number(memoryLimitInBytes), cpuQuota: Number(cpuQuota), cpuShares: Number(cpuShares) };
  const { resources } = running;
  const isInForce = Object.entries(wanted).every(([name, amount]) => resources[name as keyof typeof wanted] === amount);
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

async function cgroupDifferences(node: ResizedPods, pod: Pod): Promise<readonly string[]> {
  const values = await node.cgroups.podCgroups(new Life(), someSettings).resizableValues(pod);
  if (!values) return [];
  return (['memory', 'quota', 'shares'] as const).flatMap((part) => {
    const { current, desired = current } = values[part];
    return current === desired ? [] : [`has the pod's ${part} ${current} for ${desired}`];
  });
}

/** @param others what the other pods request, in thousandths of CPUs and bytes */
function conditionDifferences(pod: Pod, allocated: Pod, others: { readonly cpu: number; readonly memory: number }): readonly string[] {
  const find = (type: string) => pod.status?.conditions?.find((condition) => condition.type === type);
  const [pending, inProgress] = [find('PodResizePending'), find('PodResizeInProgress')];
  const progress = inProgress ? [`is still resized: ${inProgress.message}`] : [];
  if (pod === allocated) return [...progress, ...(pending ? [`is pending without a reason: ${pending.message}`] : [])];
  const requests = podRequests(pod, {});
  const fits =
    others.cpu + milliValue(requests['cpu']) <= milliValue(allocatable.cpu) &&
    others.memory + value(requests['memory']) <= value(allocatable.memory);
  return [
    ...progress,
    ...(!pending ? ['is neither allocated nor pending'] : []),
    ...(fits ? [`fits, and is pending: ${pending?.message}`] : []),
  ];
}

function otherRequests({ api }: ResizedPods, allocated: ReadonlyMap<string, PodAllocation>, uid: string) {
  return requestsOf(
    [...api.pods.pods.values()].filter((pod) => pod.metadata.uid !== uid && !isEnded(pod)),
    allocated,
  );
}

/** Returns thousandths of CPUs and bytes. */
function requestsOf(
  pods: readonly Pod[],
  allocated: ReadonlyMap<string, PodAllocation>,
): { readonly cpu: number; readonly memory: number } {
  const sum = { cpu: 0, memory: 0 };
  for (const pod of pods) {
    const allocation = allocated.get(pod.metadata.uid);
    if (!allocation) continue;
    const requests = podRequests(withAllocation(pod, allocation, gates), {});
    sum.cpu += milliValue(requests['cpu']);
    sum.memory += value(requests['memory']);
  }
  return sum;
}

/** Returns what is allocated to running pods, when it is more than the node has. */
export function findExcess(
  { api, runtime }: Pick<ResizedPods, 'api' | 'runtime'>,
  allocated: ReadonlyMap<string, PodAllocation>,
): readonly string[] {
  const running = new Set(runtime.running().map(({ sandbox }) => sandbox.podUID));
  const sum = requestsOf(
    [...api.pods.pods.values()].filter(({ metadata }) => running.has(metadata.uid)),
    allocated,
  );
  const excess = [
    ...(sum.cpu > milliValue(allocatable.cpu) ? [`${sum.cpu}m`] : []),
    ...(sum.memory > value(allocatable.memory) ? [`${sum.memory} bytes`] : []),
  ];
  return excess.map((amount) => `${amount} are allocated to ${[...running].join()}`);
}

const isEnded = ({ status }: Pod) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
const isSame = (a: ResourceRequirements | undefined, b: ResourceRequirements) =>
  isSameResizable(resizableResources(a), resizableResources(b));
