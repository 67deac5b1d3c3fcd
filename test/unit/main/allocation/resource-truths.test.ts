/** The compiler keeps apart what a pod asks for, what is allocated to it, and what is in force. `npm run check` fails where it no longer does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asActuated, computeActuated, type ActuatedRecord } from '../../../../src/main/allocation/actuated-resources.ts';
import { asAllocated, type AllocatedPod } from '../../../../src/main/allocation/allocated-pod.ts';
import { isSameAllocation, toAllocation, type PodAllocation } from '../../../../src/main/allocation/pod-allocation.ts';
import type { ActuatedPod } from '../../../../src/shared/contracts/pod-sync/allocation.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

test('desired, allocated and actuated resources are three types', () => {
  const desired: Pod = aPod({ spec: { containers: [aContainer({ resources: { requests: { cpu: '1' } } })] } });
  const [allocated, actuated] = [asAllocated(desired), asActuated(desired)];
  // @ts-expect-error: what a pod asks for may not be allocated.
  const fromDesired: AllocatedPod = desired;
  // @ts-expect-error: what is in force may not be what is allocated.
  const fromActuated: AllocatedPod = actuated;
  // @ts-expect-error: what is allocated may not be in force.
  const fromAllocated: ActuatedPod = allocated;
  assert.deepEqual([fromDesired, fromActuated], [fromAllocated, desired]);

  const allocation = toAllocation(desired, { podLevel: true, initContainers: true });
  const record = computeActuated(allocation, undefined);
  // @ts-expect-error: a record of what is in force is no allocation.
  const wrongAllocation: PodAllocation = record;
  // @ts-expect-error: an allocation is no record of what is in force.
  const wrongRecord: ActuatedRecord = allocation;
  // @ts-expect-error: they are not compared with each other.
  assert.ok(isSameAllocation(allocation, record) && isSameAllocation(wrongAllocation, wrongRecord));
});
