import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sysctlAdmission } from '../../../../src/main/pods/admission.ts';
import { PodUpdates } from '../../../../src/main/pods/pod-updates.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/fake-node.ts';
import { aPod } from '../../../support/pods.ts';

const withSysctl = (name: string) => aPod({ spec: { securityContext: { sysctls: [{ name, value: '1' }] } } });

function aNode(allowed: readonly string[]) {
  const node = new FakeNode();
  const updates = new PodUpdates({
    podManager: node.podManager,
    podWorkers: node.workers,
    statuses: node.statuses,
    events: { record: (event) => void node.events.push(event) },
    admitHandlers: [sysctlAdmission(allowed, '6.1.0')],
    sourcesReady: () => true,
    logger: node.logs.logger,
  });
  return { node, updates };
}

test('a pod with a sysctl that could reach beyond it is Failed with the reason, and never started', async () => {
  const { node, updates } = aNode([]);
  updates.add([withSysctl('net.core.somaxconn')]);
  await settle();
  assert.deepEqual(node.begun, []);
  const { startTime, ...status } = node.statuses.get('uid-web' as PodUID)!;
  assert.ok(startTime);
  assert.deepEqual(status, {
    phase: 'Failed',
    reason: 'SysctlForbidden',
    message: 'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
    qosClass: 'BestEffort',
  });
  assert.deepEqual(
    node.events.map(({ type, reason, message }) => ({ type, reason, message })),
    [{ type: 'Warning', reason: 'SysctlForbidden', message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted' }],
  );
});

test('a pod with a sysctl that the configuration allows is started', async () => {
  const { node, updates } = aNode(['net.core.*']);
  updates.add([withSysctl('net.core.somaxconn')]);
  await settle();
  assert.deepEqual(node.begun, ['sync uid-web']);
});
