import assert from 'node:assert/strict';
import { infeasibleBecause, type ResizeSettings } from '../../../../../src/main/allocation/resize/feasibility.ts';
import type { Container, PodSpec, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const settings: ResizeSettings = {
  cgroupVersion: 2,
  podLevel: true,
  memoryBackedVolumes: false,
  exclusiveCPUs: false,
  exclusiveMemory: false,
  limitedSwap: false,
};
const api = { annotations: { 'kubernetes.io/config.source': 'api' } };
const specOf = (resources: ResourceRequirements, more: Partial<Container> = {}): Partial<PodSpec> => ({
  containers: [aContainer({ resources, ...more })],
});
const guaranteed = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const volume = (sizeLimit: string): Partial<PodSpec> => ({ volumes: [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit } }] });
const podLevel = (cpu: string): Partial<PodSpec> => ({ ...specOf({}), resources: { limits: { cpu } } });
const restarts = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };

const rows: { name: string; from: Partial<PodSpec>; to: Partial<PodSpec>; with?: Partial<ResizeSettings>; want: string | null }[] = [
  { name: 'CPU and memory', from: specOf(guaranteed('1', '1Gi')), to: specOf(guaranteed('2', '2Gi')), want: null },
  { name: 'of the pod', from: podLevel('1'), to: podLevel('2'), want: null },
  {
    name: 'of the pod, with the gate off',
    from: podLevel('1'),
    to: podLevel('2'),
    with: { podLevel: false },
    want: 'plr_feature_gate_off',
  },
  { name: 'a volume in memory', from: volume('1Gi'), to: volume('2Gi'), want: 'memory_volume_resize_gate_off' },
  {
    name: 'a volume in memory on v1',
    from: volume('1Gi'),
    to: volume('2Gi'),
    with: { memoryBackedVolumes: true, cgroupVersion: 1 },
    want: 'cgroups_v1_unsupported',
  },
  { name: 'a volume that stays', from: volume('1Gi'), to: { ...volume('1024Mi'), ...specOf(guaranteed('1', '1Gi')) }, want: null },
  {
    name: 'exclusive CPUs',
    from: specOf(guaranteed('1', '1Gi')),
    to: specOf(guaranteed('2', '1Gi')),
    with: { exclusiveCPUs: true, exclusiveMemory: true },
    want: 'guaranteed_pod_cpu_manager_static_policy',
  },
  {
    name: 'exclusive memory',
    from: specOf(guaranteed('1', '1Gi')),
    to: specOf(guaranteed('1', '2Gi')),
    with: { exclusiveCPUs: true, exclusiveMemory: true },
    want: 'guaranteed_pod_memory_manager_static_policy',
  },
  {
    name: 'CPU of a Burstable pod beside exclusive CPUs',
    from: specOf({ requests: { cpu: '1' } }),
    to: specOf({ requests: { cpu: '2' } }),
    with: { exclusiveCPUs: true },
    want: null,
  },
  {
    name: 'a memory request that gives swap',
    from: specOf({ requests: { memory: '1Gi' } }),
    to: specOf({ requests: { memory: '2Gi' } }),
    with: { limitedSwap: true },
    want: 'swap_limitation',
  },
  {
    name: 'one of a container that is restarted',
    from: specOf({ requests: { memory: '1Gi' } }, restarts),
    to: specOf({ requests: { memory: '2Gi' } }, restarts),
    with: { limitedSwap: true },
    want: null,
  },
  {
    name: 'one of a Guaranteed pod, which has no swap',
    from: specOf(guaranteed('1', '1Gi')),
    to: specOf(guaranteed('1', '2Gi')),
    with: { limitedSwap: true },
    want: null,
  },
];

table('a resize that is never possible', (row) => {
  for (const { name, from, to, with: changes, want } of rows) {
    row(name, () => {
      const [pod, allocated] = [aPod({ metadata: api, spec: to }), aPod({ metadata: api, spec: from })];
      assert.equal(infeasibleBecause(pod, allocated, { ...settings, ...changes })?.detail ?? null, want);
    });
  }
});
