import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asAllocated } from '../../../../../src/main/allocation/index.ts';
import { isResizeInProgress } from '../../../../../src/main/allocation/resize/progress.ts';
import { reconstructActuated, reconstructAllocation } from '../../../../../src/main/allocation/resize/reconstruct.ts';
import type { Container, ContainerStatus, Pod, PodStatus, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import type { RuntimeContainerResources, RuntimePodStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const cpu = (amount: string) => ({ requests: { cpu: amount }, limits: { cpu: amount } });
const statusOf = (resources: ResourceRequirements | undefined, state: ContainerStatus['state']) =>
  ({
    containerStatuses: [{ name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state, ...(resources && { resources }) }],
  }) as PodStatus;
const running = { running: {} };
const runtimeOf = (state: 'running' | 'exited', resources?: RuntimeContainerResources) =>
  ({ containers: [{ name: 'app', state, ...(resources && { resources }) }] }) as unknown as RuntimePodStatus;

interface Row {
  readonly name: string;
  readonly allocated: ResourceRequirements;
  readonly podLevel?: ResourceRequirements;
  readonly status?: PodStatus;
  readonly runtime?: RuntimePodStatus;
  readonly want: { readonly app?: ResourceRequirements; readonly podLevel?: ResourceRequirements };
}
const rows: Row[] = [
  { name: 'a running container has what was reported', allocated: cpu('2'), status: statusOf(cpu('1'), running), want: { app: cpu('1') } },
  {
    name: 'one whose resources were not reported has what is allocated',
    allocated: cpu('2'),
    status: statusOf(undefined, running),
    want: { app: cpu('2') },
  },
  { name: 'one that does not run needs no record', allocated: cpu('2'), status: statusOf(cpu('1'), { waiting: {} }), want: {} },
  { name: 'a pod without a status', allocated: cpu('2'), want: {} },
  {
    name: 'a limit that is not allocated any more is in force',
    allocated: { requests: { cpu: '2' } },
    status: statusOf({ requests: { cpu: '1' }, limits: { memory: '1Gi' } }, running),
    want: { app: { requests: { cpu: '1' }, limits: { memory: '1Gi' } } },
  },
  {
    name: 'the runtime knows better than an old status',
    allocated: cpu('2'),
    status: statusOf(cpu('1'), running),
    runtime: runtimeOf('running', { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 0 }),
    want: { app: cpu('500m') },
  },
  {
    name: 'a container that has ended needs no record, whatever the status says',
    allocated: cpu('2'),
    status: statusOf(cpu('1'), running),
    runtime: runtimeOf('exited'),
    want: {},
  },
  {
    name: 'the pod’s own resources',
    allocated: {},
    podLevel: { limits: { cpu: '3' } },
    status: { ...statusOf({}, running), resources: { limits: { cpu: '2', memory: '1Gi' } } },
    want: { app: { limits: { cpu: '2' } }, podLevel: { limits: { cpu: '2' } } },
  },
];

table('what is in force in a pod whose record is lost', (row) => {
  for (const { name, allocated, podLevel, status, runtime, want } of rows) {
    row(name, () => {
      const pod = aPod({
        spec: { containers: [aContainer({ resources: allocated })], ...(podLevel && { resources: podLevel }) },
        ...(status && { status }),
      });
      const { containers, ...ofPod } = reconstructActuated(pod, pod, runtime ?? null, { podLevel: true });
      assert.deepEqual({ ...Object.fromEntries(containers), ...ofPod }, want);
    });
  }
});

const gates = { podLevel: true, initContainers: true };
const appOf = (pod: Pod, runtime: RuntimePodStatus | null) => reconstructAllocation(pod, runtime, gates)?.containers.get('app');
const wanting = (amount: string, status?: PodStatus) =>
  aPod({ spec: { containers: [aContainer({ resources: cpu(amount) })] }, ...(status && { status }) });

test('a pod that this node has not started has no allocation to reconstruct', () => {
  assert.equal(reconstructAllocation(wanting('2', statusOf(cpu('1'), { waiting: {} })), null, gates), null);
});

test('the allocation of a running pod is what is in force: a resize that its spec asks for is decided again', () => {
  const status = statusOf(cpu('1'), running);
  const [app] = status.containerStatuses!;
  const pod = wanting('2', { ...status, containerStatuses: [{ ...app!, containerID: 'containerd://1' }] });
  assert.deepEqual(appOf(pod, null), cpu('1'));
  assert.deepEqual(appOf(pod, runtimeOf('exited')), cpu('1'));
  assert.deepEqual(appOf(wanting('2'), runtimeOf('exited')), cpu('2'));
  assert.deepEqual(
    appOf(wanting('2'), runtimeOf('running', { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 0 })),
    cpu('500m'),
  );
});

test('a container is not allocated the limits of its pod, which it has', () => {
  const own = { requests: { cpu: '500m' }, limits: { cpu: '500m' } };
  const spec = { containers: [aContainer({ resources: own })], resources: { limits: { cpu: '1', memory: '1Gi' } } };
  const runtime = runtimeOf('running', { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 30 });
  assert.deepEqual(appOf(aPod({ spec }), runtime), own);
  const { containers } = reconstructActuated(aPod({ spec }), aPod({ spec }), runtime, { podLevel: true });
  assert.deepEqual(containers.get('app'), { ...own, limits: { ...own.limits, memory: '1Gi' } });
});

test('the size of a volume in memory is not known when its record is lost', () => {
  const volumes = [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } }];
  const pod = aPod({ spec: { containers: [aContainer()], volumes } });
  const { emptyDirLimits } = reconstructActuated(pod, pod, null, { podLevel: true, memoryBackedVolumes: true });
  assert.deepEqual(emptyDirLimits, new Map([['m', '0']]));
  const record = { containers: new Map(), emptyDirLimits };
  assert.equal(isResizeInProgress(asAllocated(pod), null, record, true), false);
  assert.equal(reconstructActuated(pod, pod, null, { podLevel: true }).emptyDirLimits, undefined);
});

const memory = (request: string, limit?: string) => ({ requests: { memory: request }, ...(limit && { limits: { memory: limit } }) });
const limitedTo = (memoryLimitBytes: number) => runtimeOf('running', { cpuShares: 2, cpuQuota: 0, cpuPeriod: 0, memoryLimitBytes });

test('a memory request that was never reported equals its limit where it does in the spec', () => {
  const allocated = (resources: ResourceRequirements) =>
    appOf(aPod({ spec: { containers: [aContainer({ resources })] } }), limitedTo(2 ** 26));
  assert.deepEqual(allocated(memory('32Mi', '32Mi')), memory('64Mi', '64Mi'));
  assert.deepEqual(allocated(memory('32Mi', '128Mi')), memory('32Mi', '64Mi'));
});

test('a memory request that was never reported is not known, but for a container that a resize would restart', () => {
  const unknownOf = (resizePolicy: Container['resizePolicy'], status?: PodStatus) => {
    const resources = memory('32Mi');
    const pod = aPod({
      spec: { containers: [aContainer({ resources, ...(resizePolicy && { resizePolicy }) })] },
      ...(status && { status }),
    });
    return reconstructActuated(pod, pod, limitedTo(0), { podLevel: true }).unknownMemoryRequests;
  };
  assert.deepEqual(unknownOf(undefined), new Set(['app']));
  assert.deepEqual(unknownOf([{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }]), new Set(['app']));
  assert.equal(unknownOf([{ resourceName: 'memory', restartPolicy: 'RestartContainer' }]), undefined);
  assert.equal(unknownOf(undefined, statusOf(memory('64Mi'), running)), undefined);
});
