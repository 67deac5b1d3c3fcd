import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveReservations } from '../../../../src/main/config/reservations.ts';
import { planEnforcement } from '../../../../src/main/node-cgroups/enforcement.ts';
import { table } from '../../../support/table.ts';
import { aMachine } from '../../../support/pods/local-node-status.ts';

const config = {
  reservedSystemCPUs: '0,2-3',
  kubeReserved: { cpu: '500m', memory: '1Gi' },
  systemReserved: { cpu: '250m', pid: '100' },
  cgroupRoot: '/',
  cgroupsPerQOS: true,
  enforceNodeAllocatable: ['pods'],
  kubeReservedCgroup: '',
  systemReservedCgroup: '',
};

test('reserved CPUs replace the CPU of both reservations', () => {
  const { kubeReserved, systemReserved } = effectiveReservations(config);
  assert.deepEqual([kubeReserved, systemReserved], [{ memory: '1Gi' }, { cpu: '3', pid: '100' }]);
});

test('without reserved CPUs the reservations stay', () => {
  const without = { ...config, reservedSystemCPUs: '' };
  assert.deepEqual(effectiveReservations(without), without);
});

const roundedCPU: readonly [cpu: string, want: string][] = [
  ['0.5', '0.5'],
  ['1', '1'],
  ['100.4m', '100m'],
  ['100.5m', '101m'],
  ['0.0004999', '1m'],
  ['400u', '0'],
];
table('reserved CPU is rounded to thousandths', (row) => {
  for (const [cpu, want] of roundedCPU) {
    row(`${cpu} is ${want}`, () => {
      const { kubeReserved } = effectiveReservations({ reservedSystemCPUs: '', kubeReserved: { cpu }, systemReserved: {} });
      assert.deepEqual(kubeReserved, { cpu: want });
    });
  }
});

test('all pods share the CPUs that are not reserved', () => {
  const host = { machine: aMachine({ numCores: 8 }), cgroupVersion: 1, memoryQos: false } as const;
  assert.equal(planEnforcement(effectiveReservations(config), host)[0]?.change.resources.cpuShares, 5 * 1024);
});
