import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withReservedCPUs } from '../../../../src/main/config/reserved-cpus.ts';
import { planEnforcement } from '../../../../src/main/resources/enforcement.ts';
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
  const { kubeReserved, systemReserved } = withReservedCPUs(config);
  assert.deepEqual([kubeReserved, systemReserved], [{ memory: '1Gi' }, { cpu: '3', pid: '100' }]);
});

test('without reserved CPUs the reservations stay', () => {
  const without = { ...config, reservedSystemCPUs: '' };
  assert.equal(withReservedCPUs(without), without);
});

test('all pods share the CPUs that are not reserved', () => {
  const host = { machine: aMachine({ numCores: 8 }), cgroupVersion: 1, memoryQos: false } as const;
  assert.equal(planEnforcement(withReservedCPUs(config), host)[0]?.change.resources.cpuShares, 5 * 1024);
});
