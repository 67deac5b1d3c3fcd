/**
 * What the cgroups of a node must do on every host: with cgroup v1 and v2, with the drivers cgroupfs and systemd. The tests of each host name the
 * scenarios, and give access to its cgroups.
 */
import assert from 'node:assert/strict';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import type { CgroupName } from '../../../src/shared/cgroups/cgroup-names.ts';
import { weightFromShares } from '../../../src/shared/cgroups/cgroup-values.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';
import { aBusybox, aManifest } from './test-node.ts';

export interface CgroupHost {
  readonly version: 1 | 2;
  apply(manifest: object): Promise<void> | void;
  delete(name: string): Promise<void> | void;
  untilRunning(name: string): Promise<Pod>;
  /** Returns the line of the first mount whose path has this part. */
  mountOptions(part: string): Promise<string>;
  /** Returns the name of the container's cgroup below its pod's. */
  containerCgroup(id: string): string;
  /** Of the machine. */
  cores(): Promise<number>;
  memoryBytes(): Promise<number>;
  /** Returns '' for a file that does not exist. `cgroup` starts with kubepods; the controller is of v1. */
  read(cgroup: CgroupName, controller: string, file: string): Promise<string>;
  write(cgroup: CgroupName, controller: string, file: string, value: string): Promise<void>;
  /** Whether any hierarchy has the cgroup. */
  exists(cgroup: CgroupName): Promise<boolean>;
}

export const mountLine = (mounts: string, part: string): string => mounts.split('\n').find((line) => line.includes(part)) ?? '';

/** The configuration that the scenarios expect. */
export const scenarioConfig = {
  kubeReserved: { cpu: '100m', memory: '100Mi' },
  enforceNodeAllocatable: ['pods'],
  podPidsLimit: 200,
  featureGates: { InPlacePodVerticalScalingMemoryBackedVolumes: true },
};
const reservedBytes = 100 * 2 ** 20;
/** The kubelet sets the levels again each minute. */
const periodMs = 90_000;

const burstableLevel = ['kubepods', 'burstable'];
const bestEffortLevel = ['kubepods', 'besteffort'];
const podIn = (level: CgroupName, { metadata: { uid } }: Pod): CgroupName => [...level, `pod${uid}`];

const values = {
  memory: { 1: ['memory', 'memory.limit_in_bytes'], 2: ['memory', 'memory.max'] },
  cpu: { 1: ['cpu', 'cpu.shares'], 2: ['cpu', 'cpu.weight'] },
  quota: { 1: ['cpu', 'cpu.cfs_quota_us'], 2: ['cpu', 'cpu.max'] },
  pids: { 1: ['pids', 'pids.max'], 2: ['pids', 'pids.max'] },
} as const;

function read(host: CgroupHost, cgroup: CgroupName, value: keyof typeof values): Promise<string> {
  const [controller, file] = values[value][host.version];
  return host.read(cgroup, controller, file);
}

async function untilValue(
  host: CgroupHost,
  cgroup: CgroupName,
  value: keyof typeof values,
  want: string,
  timeoutMs = 30_000,
): Promise<void> {
  let last = '';
  const isSet = async () => (last = await read(host, cgroup, value)) === want;
  await waitUntil(`${value} of ${cgroup.join('/')} is ${want}`, isSet, timeoutMs).catch((err: unknown) => {
    throw new Error(`${String(err)}; it is ${last}`, { cause: err });
  });
}

const cpuValue = ({ version }: CgroupHost, shares: number) => String(version === 1 ? shares : weightFromShares(shares));
const requesting = (name: string, cpu: string) => aManifest(name, { containers: [aBusybox({ resources: { requests: { cpu } } })] });

export async function podHasItsLimits(host: CgroupHost): Promise<void> {
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  await host.apply(aManifest('limited', { containers: [aBusybox({ resources })] }));
  const cgroup = podIn(burstableLevel, await host.untilRunning('limited'));
  assert.equal(await read(host, cgroup, 'memory'), String(64 * 2 ** 20));
  assert.equal(await read(host, cgroup, 'pids'), '200');
  assert.equal(await read(host, cgroup, 'cpu'), cpuValue(host, 102));
  assert.equal(await read(host, cgroup, 'quota'), host.version === 1 ? '20000' : '20000 100000');
  await host.delete('limited');
  // Systemd may start the slice again for a scope of the runtime.
  await waitUntil('the cgroup is gone', async () => !(await host.exists(cgroup)));
}

/** A manifest with a UID of its own that changes is the same pod. */
export async function changedManifestIsResized(host: CgroupHost): Promise<void> {
  const resources = (cpu: string, memory: string) => ({ requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu, memory } });
  // With v1 a resize of a volume is infeasible.
  const volumesOf = (sizeLimit: string) => (host.version === 1 ? [] : [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit } }]);
  const volumeMounts = host.version === 1 ? [] : [{ name: 'memory', mountPath: '/memory' }];
  const apply = (cpu: string, memory: string, sizeLimit: string) => {
    const containers = [aBusybox({ resources: resources(cpu, memory), volumeMounts })];
    return host.apply(aManifest('resized', { containers, volumes: volumesOf(sizeLimit) }, { uid: 'resized' }));
  };
  await apply('200m', '64Mi', '8Mi');
  const before = await host.untilRunning('resized');
  const pod = podIn(burstableLevel, before);
  const [, id = ''] = before.status?.containerStatuses?.[0]?.containerID?.split('://') ?? [];
  const container = [...pod, host.containerCgroup(id)];
  for (const [cpu, memory, mebibytes, quota, sizeLimit] of [
    ['400m', '128Mi', 128, 40_000, '16Mi'],
    ['150m', '96Mi', 96, 15_000, '4Mi'],
  ] as const) {
    await apply(cpu, memory, sizeLimit);
    for (const cgroup of [container, pod]) {
      await untilValue(host, cgroup, 'memory', String(mebibytes * 2 ** 20));
      await untilValue(host, cgroup, 'quota', host.version === 1 ? String(quota) : `${quota} 100000`);
    }
    assert.deepEqual([await read(host, pod, 'cpu'), await read(host, pod, 'pids')], [cpuValue(host, 102), '200']);
    const isReported = async () => {
      const [status] = (await host.untilRunning('resized')).status?.containerStatuses ?? [];
      assert.deepEqual([status?.containerID?.endsWith(id), status?.restartCount], [true, 0]);
      return status?.resources?.limits?.['cpu'] === cpu && status.resources.limits['memory'] === memory;
    };
    await waitUntil(`the status has ${cpu} and ${memory}`, isReported);
    if (host.version === 1) continue;
    const kibibytes = Number.parseInt(sizeLimit, 10) * 1024;
    await waitUntil(`the volume has ${sizeLimit}`, async () =>
      (await host.mountOptions('resized/volumes/kubernetes.io~empty-dir/memory')).includes(`size=${kibibytes}k`),
    );
  }
  await host.delete('resized');
}

export async function allPodsHaveWhatIsNotReserved(host: CgroupHost): Promise<void> {
  const pages = Math.floor(((await host.memoryBytes()) - reservedBytes) / 4096);
  await untilValue(host, ['kubepods'], 'memory', String(pages * 4096));
  await untilValue(host, ['kubepods'], 'cpu', cpuValue(host, Math.floor((((await host.cores()) * 1000 - 100) * 1024) / 1000)));
}

export async function burstableLevelFollowsItsPods(host: CgroupHost): Promise<void> {
  await host.apply(requesting('first', '500m'));
  await host.apply(requesting('second', '250m'));
  await untilValue(host, burstableLevel, 'cpu', cpuValue(host, 768));
  await host.delete('first');
  await untilValue(host, burstableLevel, 'cpu', cpuValue(host, 256));
  assert.equal(await read(host, bestEffortLevel, 'cpu'), cpuValue(host, 2));
  await host.delete('second');
}

export async function changedLevelIsSetAgain(host: CgroupHost): Promise<void> {
  await host.apply(requesting('steady', '500m'));
  await untilValue(host, burstableLevel, 'cpu', cpuValue(host, 512));
  const [controller, file] = values.cpu[host.version];
  await host.write(burstableLevel, controller, file, '77');
  await untilValue(host, burstableLevel, 'cpu', cpuValue(host, 512), periodMs);
  await host.delete('steady');
}

/** A privileged container that makes cgroups with names that are no text, a deep tree, and a frozen process, in the cgroup of its pod. */
function hostile({ version }: CgroupHost): Partial<PodSpec> {
  const [processes, freeze] =
    version === 1
      ? ['/host-cgroups/freezer', 'echo $! > own/cgroup.procs; echo FROZEN > own/freezer.state']
      : // A process cannot leave its cgroup namespace.
        ['/host-cgroups', 'cd /sys/fs/cgroup; mkdir own; echo $! > own/cgroup.procs; echo 1 > own/cgroup.freeze; cd -'];
  const sh = `cd $(find ${processes} -type d -name '*podhostile*' | head -n 1) || exit 1
    mkdir "$(printf 'odd\\377')" 'with space' own; i=0; while [ $i -lt 1000 ]; do wide="$wide w$i"; i=$((i + 1)); done; mkdir $wide
    i=0; while [ $i -lt 40 ]; do deep="$deep/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"; i=$((i + 1)); done
    (for i in 1 2 3; do mkdir -p ".$deep"; cd -P ".$deep"; done)
    sleep 1000 & ${freeze}; mkdir done; while :; do sleep 1; done`;
  const container = { securityContext: { privileged: true }, volumeMounts: [{ name: 'cgroups', mountPath: '/host-cgroups' }], sh };
  return { containers: [aBusybox(container)], volumes: [{ name: 'cgroups', hostPath: { path: '/sys/fs/cgroup' } }] };
}

export async function hostileCgroupsAreRemoved(host: CgroupHost): Promise<void> {
  await host.apply(aManifest('neighbour'));
  await host.untilRunning('neighbour');
  await host.apply(aManifest('hostile', hostile(host), { uid: 'hostile' }));
  const cgroup = podIn(bestEffortLevel, await host.untilRunning('hostile'));
  await waitUntil('the container has done its worst', () => host.exists([...cgroup, 'done']), periodMs);
  await host.delete('hostile');
  await waitUntil('the cgroup is gone', async () => !(await host.exists(cgroup)), periodMs);
  const { status } = await host.untilRunning('neighbour');
  assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
  await host.delete('neighbour');
}
