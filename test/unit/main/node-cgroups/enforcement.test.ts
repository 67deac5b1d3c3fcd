import assert from 'node:assert/strict';
import { planEnforcement, type EnforcementHost, type EnforcementSettings } from '../../../../src/main/node-cgroups/enforcement.ts';
import { table } from '../../../support/table.ts';
import { aMachine } from '../../../support/pods/local-node-status.ts';

const settings: EnforcementSettings = {
  cgroupRoot: '/',
  cgroupsPerQOS: true,
  enforceNodeAllocatable: ['pods'],
  kubeReserved: { cpu: '500m', memory: '256Mi' },
  kubeReservedCgroup: '/kube.slice',
  systemReserved: { cpu: '500m', pid: '1000' },
  systemReservedCgroup: '/system.slice',
};
const host: EnforcementHost = {
  machine: aMachine({ numCores: 4, memoryBytes: 2 ** 30, hugePages: [], maxPids: 4000, onlineCPUs: '0-3' }),
  cgroupVersion: 2,
  memoryQos: true,
};
const pods = { cpuShares: 3072, memoryBytes: 768 * 2 ** 20, pidsLimit: 3000, hugePageLimits: {}, cpusetCpus: '0-3' };
const all = { cpuShares: 4096, memoryBytes: 2 ** 30, pidsLimit: 4000, hugePageLimits: {}, cpusetCpus: '0-3' };
const kube = { hugePageLimits: {}, cpuShares: 512, memoryBytes: 256 * 2 ** 20, cpusetCpus: '0-3', unified: { 'memory.min': '268435456' } };

const cases: [name: string, Partial<EnforcementSettings>, Partial<EnforcementHost>, want: [cgroup: unknown, resources: unknown][]][] = [
  ['pods have what is not reserved', {}, {}, [[['kubepods'], pods]]],
  ['without enforcement pods have the capacity', { enforceNodeAllocatable: ['none'] }, {}, [[['kubepods'], all]]],
  ['a cgroup of v1 has the CPUs of its parent', {}, { cgroupVersion: 1 }, [[['kubepods'], { ...pods, cpusetCpus: undefined }]]],
  ['without cgroupsPerQOS the root is not limited', { cgroupsPerQOS: false }, {}, []],
  [
    'daemons have their reservations',
    { enforceNodeAllocatable: ['kube-reserved', 'system-reserved'] },
    {},
    [
      [['kubepods'], all],
      ['/system.slice', { hugePageLimits: {}, cpuShares: 512, pidsLimit: 1000, cpusetCpus: '0-3' }],
      ['/kube.slice', kube],
    ],
  ],
  [
    'the compressible forms limit CPU only',
    { enforceNodeAllocatable: ['kube-reserved-compressible'] },
    {},
    [
      [['kubepods'], all],
      ['/kube.slice', { hugePageLimits: {}, cpuShares: 512, cpusetCpus: '0-3' }],
    ],
  ],
  [
    'without MemoryQoS a former protection is taken back',
    {},
    { memoryQos: false },
    [[['kubepods'], { ...pods, unified: { 'memory.min': '0', 'memory.low': '0' } }]],
  ],
  ['cgroup v1 has no protection', {}, { memoryQos: false, cgroupVersion: 1 }, [[['kubepods'], { ...pods, cpusetCpus: undefined }]]],
  [
    'with MemoryQoS the memory of daemons is protected',
    { enforceNodeAllocatable: ['kube-reserved'] },
    {},
    [
      [['kubepods'], all],
      ['/kube.slice', kube],
    ],
  ],
];

table('the cgroups of the node get their limits', (row) => {
  for (const [name, changes, hostChanges, want] of cases) {
    row(name, () => {
      const plan = planEnforcement({ ...settings, ...changes }, { ...host, ...hostChanges });
      const computed = plan.map(({ change }) => [change.cgroup, change.resources]);
      assert.deepEqual(JSON.parse(JSON.stringify(computed)), JSON.parse(JSON.stringify(want)));
    });
  }
});
