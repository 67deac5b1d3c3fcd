import { podSyncGatesWith } from '../../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSyncSettings } from '../../../../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { PodSpec, ResourceRequirements } from '../../../../../../src/shared/kubernetes/api.ts';
import { containerResources, sandboxResources } from '../../../../../../src/workers/pod-sync/pod/runtime-config/linux-resources.ts';
import type { ContainerConfigInput, HostInfo } from '../../../../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import {
  aContainerConfigInput,
  aSandboxConfigInput,
  someHostInfo,
  someSettings,
} from '../../../../../support/pods/runtime-config-inputs.ts';
import { table } from '../../../../../support/table.ts';

interface Fields {
  readonly settings?: Partial<PodSyncSettings>;
  readonly host?: Partial<HostInfo>;
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Record<string, string>;
  readonly input?: Partial<ContainerConfigInput>;
}

function resources(own: ResourceRequirements, { settings, host, spec, annotations, input }: Fields = {}) {
  const container = aContainer({ resources: own });
  const pod = aPod({ spec: { ...spec, containers: [container] }, ...(annotations ? { metadata: { annotations } } : {}) });
  return containerResources(
    aContainerConfigInput({ pod, container, settings: { ...someSettings, ...settings }, hostInfo: { ...someHostInfo, ...host }, ...input }),
  );
}

const cpu: readonly [
  name: string,
  own: ResourceRequirements,
  settings: Partial<PodSyncSettings>,
  want: [shares: bigint, quota: bigint, period: bigint],
][] = [
  ['no request', {}, {}, [2n, 0n, 100_000n]],
  ['a request', { requests: { cpu: '500m' } }, {}, [512n, 0n, 100_000n]],
  ['a limit without a request', { limits: { cpu: '2' } }, {}, [2048n, 200_000n, 100_000n]],
  ['a request of zero does not default to the limit', { limits: { cpu: '2' }, requests: { cpu: '0' } }, {}, [2n, 200_000n, 100_000n]],
  ['a limit below the kernel’s minimum', { limits: { cpu: '1m' } }, {}, [2n, 1000n, 100_000n]],
  ['a shorter period', { limits: { cpu: '1' } }, { cpuCFSQuotaPeriodUs: 10_000 }, [1024n, 10_000n, 10_000n]],
  [
    'a shorter period without its feature gate',
    { limits: { cpu: '1' } },
    { cpuCFSQuotaPeriodUs: 10_000, featureGates: podSyncGatesWith({ CustomCPUCFSQuotaPeriod: false }) },
    [1024n, 100_000n, 100_000n],
  ],
  ['a node without CFS quotas', { limits: { cpu: '1' } }, { cpuCFSQuota: false }, [1024n, 0n, 0n]],
];
table('CPU', (row) => {
  for (const [name, own, settings, want] of cpu) {
    row(`CPU: ${name}`, () => {
      const { cpuShares, cpuQuota, cpuPeriod } = resources(own, { settings });
      assert.deepEqual([cpuShares, cpuQuota, cpuPeriod], want);
    });
  }
});

test('exclusive CPUs are set and not throttled', () => {
  const { cpusetCpus, cpuQuota } = resources({ limits: { cpu: '2' } }, { input: { cpusetCpus: '2-3' } });
  assert.deepEqual([cpusetCpus, cpuQuota], ['2-3', -1n]);
});

test('a container without a memory limit has the pod-level limit', () => {
  assert.equal(resources({ limits: { memory: '64Mi' } }).memoryLimitInBytes, 67_108_864n);
  assert.equal(resources({}, { spec: { resources: { limits: { memory: '1Gi' } } } }).memoryLimitInBytes, 1_073_741_824n);
  const gateOff = {
    settings: { featureGates: podSyncGatesWith({ PodLevelResources: false }) },
    spec: { resources: { limits: { memory: '1Gi' } } },
  };
  assert.equal(resources({}, gateOff).memoryLimitInBytes, 0n);
});

test('every huge page size of the node has a limit, 0 without a request', () => {
  assert.deepEqual(resources({ limits: { 'hugepages-2Mi': '4Mi' } }).hugepageLimits, [
    { pageSize: '2MB', limit: 4_194_304n },
    { pageSize: '1GB', limit: 0n },
  ]);
});

const burstable: ResourceRequirements = { requests: { memory: '1G' }, limits: { memory: '2G' } };
const api = { 'kubernetes.io/config.source': 'api' };
const limited = { memorySwapBehavior: 'LimitedSwap', cgroupVersion: 2 } as const;
const swapping = { swapControllerAvailable: true, swapCapacityBytes: 8_000_000_000 };
const resizedToPodLimit = aContainer({ resources: { requests: { memory: '1G' }, limits: { memory: '1G' } } });
const swap: readonly [name: string, own: ResourceRequirements, fields: Fields, wantV1: bigint, wantV2: Record<string, string>][] = [
  ['v1 without a swap controller', burstable, {}, 0n, {}],
  ['v1: no swap in addition to the memory', burstable, { host: swapping }, 2_000_000_000n, {}],
  ['v2: none', burstable, { host: swapping, settings: { cgroupVersion: 2 } }, 0n, { 'memory.swap.max': '0' }],
  [
    'v2, limited: in proportion to the request',
    burstable,
    { host: swapping, settings: limited, annotations: api },
    0n,
    { 'memory.swap.max': '2000000000' },
  ],
  ['v2, limited: a static pod is critical and gets none', burstable, { host: swapping, settings: limited }, 0n, { 'memory.swap.max': '0' }],
  ['v2, limited: best effort gets none', {}, { host: swapping, settings: limited, annotations: api }, 0n, { 'memory.swap.max': '0' }],
  [
    'v2, limited: a request as high as the limit gets none',
    { requests: { memory: '1G' }, limits: { memory: '1G' } },
    { host: swapping, settings: limited, annotations: api },
    0n,
    { 'memory.swap.max': '0' },
  ],
  [
    'v2, limited: a request as high as the pod’s limit gets its share, also when a resize gives the container that limit',
    { requests: { memory: '1G' } },
    {
      host: swapping,
      settings: limited,
      annotations: api,
      spec: { resources: { limits: { memory: '1G' } } },
      input: { container: resizedToPodLimit },
    },
    0n,
    { 'memory.swap.max': '2000000000' },
  ],
];
const withoutMemoryQos = ({ 'memory.min': _min, 'memory.low': _low, ...others }: Record<string, string>) => others;
table('swap', (row) => {
  for (const [name, own, fields, wantV1, wantV2] of swap) {
    row(`swap, ${name}`, () => {
      const { memorySwapLimitInBytes, unified } = resources(own, fields);
      assert.deepEqual([memorySwapLimitInBytes, withoutMemoryQos(unified)], [wantV1, wantV2]);
    });
  }
});

test('v2: the OOM killer kills all processes of a container, unless singleProcessOOMKill is set', () => {
  const { unified } = resources({}, { settings: { cgroupVersion: 2, singleProcessOOMKill: false } });
  assert.deepEqual(withoutMemoryQos(unified), { 'memory.oom.group': '1' });
  assert.deepEqual(resources({}, { settings: { cgroupVersion: 1, singleProcessOOMKill: false } }).unified, {});
});

const throttled = { cgroupVersion: 2, memoryThrottlingFactor: 0.5 } as const;
const memoryQos: readonly [name: string, own: ResourceRequirements, fields: Fields, want: Record<string, string>][] = [
  ['by default nothing is protected or throttled', burstable, { settings: { cgroupVersion: 2 } }, { 'memory.min': '0', 'memory.low': '0' }],
  ['v1 has no such files', burstable, {}, {}],
  [
    'a container that was throttled is released when the gate is off',
    burstable,
    { settings: { cgroupVersion: 2, featureGates: podSyncGatesWith({ MemoryQoS: false }) } },
    { 'memory.high': 'max' },
  ],
  [
    'a factor throttles between request and limit',
    burstable,
    { settings: throttled },
    { 'memory.min': '0', 'memory.low': '0', 'memory.high': String(Math.floor(1.5e9 / 4096) * 4096) },
  ],
  [
    'a container without a limit is throttled by the pod’s',
    { requests: { memory: '1G' } },
    { settings: throttled, spec: { resources: { limits: { memory: '2G' } } } },
    { 'memory.min': '0', 'memory.low': '0' },
  ],
  [
    'it still is when a resize gives it the pod’s limit',
    { requests: { memory: '1G' } },
    { settings: throttled, spec: { resources: { limits: { memory: '2G' } } }, input: { container: aContainer({ resources: burstable }) } },
    { 'memory.min': '0', 'memory.low': '0' },
  ],
];
table('memory QoS', (row) => {
  for (const [name, own, fields, want] of memoryQos) {
    row(`memory QoS: ${name}`, () => assert.deepEqual(resources(own, fields).unified, want));
  }
});

test('a sandbox has the pod’s resources and its overhead separately', () => {
  const pod = aPod({
    spec: {
      containers: [
        aContainer({ resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '100M' } } }),
        aContainer({ name: 'b', resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '100M' } } }),
      ],
      overhead: { cpu: '250m', memory: '50M' },
    },
  });
  const { resources: own, overhead } = sandboxResources(aSandboxConfigInput({ pod }));
  assert.deepEqual([own.cpuShares, own.cpuQuota, own.memoryLimitInBytes], [1024n, 200_000n, 200_000_000n]);
  assert.deepEqual([overhead.cpuShares, overhead.cpuQuota, overhead.memoryLimitInBytes], [256n, 25_000n, 50_000_000n]);
  assert.equal(sandboxResources(aSandboxConfigInput()).overhead.cpuShares, 0n);
});
