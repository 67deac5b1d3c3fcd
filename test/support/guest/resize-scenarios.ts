/**
 * Resizes of running pods on cgroup v2 with systemd: the manifest of a static pod changes, its UID stays. What the status says must be in the cgroups already, and
 * nothing else in them may change.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { sharesFromMilliCPU, weightFromShares } from '../../../src/shared/cgroups/cgroup-values.ts';
import type { ContainerStatus, Pod, PodSpec, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { aBusybox, aManifest } from '../kubelet/test-node.ts';
import { burstableSlice } from './cgroup-values.ts';
import { statusOf, type GuestNode } from './guest-node.ts';

interface Amounts {
  readonly milliCPU: number;
  readonly mebibytes: number;
}
interface Size {
  readonly requests: Amounts;
  readonly limits: Amounts;
}
interface ResizedPod {
  readonly name: string;
  readonly spec: (size: Size) => Partial<PodSpec>;
  /** What the pod's own status shows. */
  readonly ownSize: (size: Size) => Size;
  /** Of the pod's cgroup, and of those of its containers. */
  readonly memoryQos: readonly [pod: MemoryQos, container: MemoryQos];
  /** Of each container's cgroup. */
  readonly containerSize: (size: Size) => Size;
  /** How often each container has started again after as many resizes. */
  readonly restarts: (resizes: number) => readonly number[];
}

const MiB = 2 ** 20;
const size = (requests: readonly [number, number], limits: readonly [number, number]): Size => ({
  requests: { milliCPU: requests[0], mebibytes: requests[1] },
  limits: { milliCPU: limits[0], mebibytes: limits[1] },
});
const first = size([100, 32], [200, 64]);
/** All pods together fit on one CPU. */
const resizes: Readonly<Record<string, Size>> = {
  'both up': size([180, 64], [260, 128]),
  'both down': size([50, 24], [150, 48]),
  'CPU up, memory down': size([150, 16], [240, 32]),
  'CPU down, memory up': size([60, 40], [160, 80]),
};

const listOf = ({ milliCPU, mebibytes }: Amounts) => ({ cpu: `${milliCPU}m`, memory: `${mebibytes}Mi` });
const resourcesOf = ({ requests, limits }: Size): ResourceRequirements => ({ requests: listOf(requests), limits: listOf(limits) });
const guaranteedSize = ({ limits }: Size): Size => ({ requests: limits, limits });
const volumeMebibytes = ({ limits }: Size) => limits.mebibytes / 4;
const doubled = ({ milliCPU, mebibytes }: Amounts): Amounts => ({ milliCPU: milliCPU * 2, mebibytes: mebibytes * 2 });

const pods: readonly ResizedPod[] = [
  {
    name: 'guaranteed',
    spec: (wanted) => ({
      containers: [aBusybox({ resources: resourcesOf(guaranteedSize(wanted)), volumeMounts: [{ name: 'memory', mountPath: '/memory' }] })],
      volumes: [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: `${volumeMebibytes(wanted)}Mi` } }],
    }),
    ownSize: guaranteedSize,
    containerSize: guaranteedSize,
    memoryQos: ['guaranteed', 'guaranteed'],
    restarts: () => [0],
  },
  {
    name: 'burstable',
    spec: (wanted) => ({
      containers: [
        aBusybox({ resources: resourcesOf(wanted) }),
        {
          ...aBusybox({ resources: resourcesOf(wanted), resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] }),
          name: 'restarts',
        },
      ],
    }),
    ownSize: ({ requests, limits }) => ({ requests: doubled(requests), limits: doubled(limits) }),
    containerSize: (wanted) => wanted,
    memoryQos: ['protected', 'throttled'],
    restarts: (count) => [0, count],
  },
  {
    name: 'pod-level',
    spec: (wanted) => ({ resources: resourcesOf(wanted), containers: [aBusybox()] }),
    ownSize: (wanted) => wanted,
    // Without a request of its own it has the weight of its limit.
    containerSize: guaranteedSize,
    memoryQos: ['throttled', 'none'],
    restarts: () => [0],
  },
];

const manifestOf = ({ name, spec }: ResizedPod, wanted: Size) => aManifest(name, spec(wanted), { uid: name });

const sliceOf = (name: string) =>
  name === 'guaranteed' ? `/sys/fs/cgroup/kubepods.slice/kubepods-pod${name}.slice` : burstablePodSlice(name);
/** Systemd takes a dash for a level. */
const burstablePodSlice = (uid: string) => `${burstableSlice}/kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`;
const scopeOf = (slice: string, status: ContainerStatus | undefined) =>
  `${slice}/cri-containerd-${status?.containerID?.split('//')[1]}.scope`;

/** The kubelet's configuration: with MemoryQoS a resize also changes what the kernel protects, and above what it throttles. */
export const memoryQosConfig = { memoryReservationPolicy: 'TieredReservation', memoryThrottlingFactor: 0.9 };

type MemoryQos = 'guaranteed' | 'throttled' | 'protected' | 'none';

const printValues = (...folders: readonly string[]) =>
  folders.map((folder) => `cd ${folder} && echo $(cat memory.max cpu.max cpu.weight memory.min memory.low memory.high)`).join(' && ');
/** What printValues prints of one folder. */
function valuesFor({ requests, limits }: Size, qos: MemoryQos): string {
  const [requestBytes, limitBytes] = [requests.mebibytes * MiB, limits.mebibytes * MiB];
  const throttledAbove = Math.floor((requestBytes + (limitBytes - requestBytes) * memoryQosConfig.memoryThrottlingFactor) / 4096) * 4096;
  const memory = {
    guaranteed: `${requestBytes} 0 max`,
    throttled: `0 ${requestBytes} ${throttledAbove}`,
    protected: `0 ${requestBytes} max`,
    none: '0 0 max',
  }[qos];
  return `${limitBytes} ${limits.milliCPU * 100} 100000 ${weightFromShares(sharesFromMilliCPU(requests.milliCPU))} ${memory}`;
}

/** Settings that no resize changes. Files that this kernel does not have are left out. */
const otherSettings = [
  'pids.max cpuset.cpus cpuset.mems cpuset.cpus.partition cpu.idle cpu.max.burst cgroup.max.depth cgroup.max.descendants cgroup.freeze',
  'memory.swap.max memory.swap.high memory.zswap.max memory.oom.group io.max io.weight hugetlb.*.max',
].join(' ');
const printOtherSettings = (...folders: readonly string[]) =>
  folders.map((folder) => `cd ${folder} && for f in ${otherSettings}; do [ ! -e $f ] || echo $f $(cat $f); done`).join('; ');

const hasNoResize = ({ status }: Pod) => !status?.conditions?.some(({ type }) => type.startsWith('PodResize'));

function isInForce(pod: Pod, { name, spec, ownSize }: ResizedPod, wanted: Size): boolean {
  const { containers = [] } = spec(wanted);
  const { resources, containerStatuses = [] } = pod.status ?? {};
  return (
    hasNoResize(pod) &&
    (name === 'pod-level' ||
      containers.every((container) => isDeepStrictEqual(statusOf(pod, container.name)?.resources, container.resources))) &&
    containerStatuses.every(({ state, ready }) => state?.running !== undefined && ready) &&
    isDeepStrictEqual(resources, resourcesOf(ownSize(wanted)))
  );
}

/**
 * Up, down and both at once; Guaranteed and Burstable pods; with and without a restart of the container; the pod's own resources; a volume in memory with its
 * pod.
 */
export async function podsOfEachClassAreResized(node: GuestNode): Promise<void> {
  const untilInForce = (pod: ResizedPod, what: string, wanted: Size) =>
    node.until(pod.name, `is resized, ${what}`, (each) => isInForce(each, pod, wanted));
  for (const pod of pods) await node.apply(manifestOf(pod, first));
  const started = new Map<string, readonly ContainerStatus[]>();
  for (const pod of pods) started.set(pod.name, (await untilInForce(pod, 'at its start', first)).status?.containerStatuses ?? []);
  const kept = pods.flatMap(({ name }) => [sliceOf(name), scopeOf(sliceOf(name), started.get(name)?.[0])]);
  const settings = await node.guest.check(printOtherSettings(...kept));
  assert.match(settings, /^pids\.max 200$/m);
  assert.match(settings, /^cpuset\.cpus/m);
  for (const [index, [what, wanted]] of Object.entries(resizes).entries()) {
    for (const pod of pods) await node.apply(manifestOf(pod, wanted));
    for (const pod of pods) {
      const { name, ownSize, containerSize, memoryQos, spec, restarts } = pod;
      const resized = await untilInForce(pod, what, wanted);
      const containers = (spec(wanted).containers ?? []).map((container) => statusOf(resized, container.name));
      const values = await node.guest.check(printValues(sliceOf(name), ...containers.map((status) => scopeOf(sliceOf(name), status))));
      const [podQos, containerQos] = memoryQos;
      const expected = [valuesFor(ownSize(wanted), podQos), ...containers.map(() => valuesFor(containerSize(wanted), containerQos))];
      assert.equal(values, expected.join('\n'), `${name}, ${what}`);
      assert.deepEqual(
        containers.map((status) => status?.restartCount),
        restarts(index + 1),
        `${name}, ${what}`,
      );
      assert.equal(containers[0]?.containerID, started.get(name)?.[0]?.containerID);
    }
    const mounts = await node.guest.check('grep pods/guaranteed/volumes/kubernetes.io~empty-dir/memory /proc/self/mounts');
    assert.ok(mounts.includes(`size=${volumeMebibytes(wanted) * 1024}k`), mounts);
  }
  assert.equal(await node.guest.check(printOtherSettings(...kept)), settings);
  for (const { name } of pods) await node.delete(name);
}

/** The kernel would kill a container whose memory limit is lowered below its usage. */
export async function limitBelowUsageWaits(node: GuestNode): Promise<void> {
  const apply = (mebibytes: number) => {
    const resources = resourcesOf(size([200, mebibytes], [200, mebibytes]));
    const containers = [aBusybox({ resources, volumeMounts: [{ name: 'memory', mountPath: '/memory' }] })];
    return node.apply(aManifest('full', { containers, volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }] }, { uid: 'full' }));
  };
  const slice = '/sys/fs/cgroup/kubepods.slice/kubepods-podfull.slice';
  const file = '/var/lib/kubelet/pods/full/volumes/kubernetes.io~empty-dir/memory/file';
  await apply(96);
  const scope = scopeOf(slice, statusOf(await node.untilRunning('full')));
  // The memory counts for the cgroup of the process that writes.
  await node.guest.check(`echo $$ > ${scope}/cgroup.procs && dd if=/dev/zero of=${file} bs=1M count=60 2>/dev/null`);
  await apply(48);
  const inProgress = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
  const refused = await node.until('full', 'says why', (pod) => inProgress(pod)?.reason === 'Error');
  assert.match(inProgress(refused)?.message ?? '', /^cannot decrease memory limits: .*\(50331648\) below current usage \(6\d{7}\)/);
  const printLimits = `cat ${slice}/memory.max ${scope}/memory.max`;
  assert.equal(await node.guest.check(printLimits), `${96 * MiB}\n${96 * MiB}`);
  await node.guest.check(`rm ${file}`);
  const granted = await node.until(
    'full',
    'is resized',
    (pod) => hasNoResize(pod) && statusOf(pod)?.resources?.limits?.['memory'] === '48Mi',
  );
  assert.equal(await node.guest.check(printLimits), `${48 * MiB}\n${48 * MiB}`);
  assert.equal(statusOf(granted)?.restartCount, 0);
  await node.delete('full');
}
