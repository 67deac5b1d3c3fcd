/** A failing pod whose status write is late or refused: its warning event waits for the status, for a limited time. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Matches } from '../../support/api-server/api-server-faults.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { sharedCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { startFaultyNode, type FaultyNode } from '../../support/cluster/faulty-node.ts';
import { assertStatusCameFirst, firstWarnings, revisionOf } from '../../support/cluster/first-warnings.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const isStatusPatch: Matches = (method, path) => method === 'PATCH' && path.includes('/pods/') && path.endsWith('/status');

describe('a failing pod with a late status', () => {
  const hooks = new Cleanups();
  let cluster: TestCluster;
  let faulty: FaultyNode;
  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    faulty = await startFaultyNode(hooks, cluster, 'late-status');
  });
  after(() => hooks.run());

  /** The first warning event about a pod with a missing secret. */
  async function firstWarning(name: string) {
    const since = await revisionOf(cluster, faulty.namespace);
    await faulty.create(name, {
      volumes: [{ name: 'missing', secret: { secretName: 'none-such' } }],
      containers: [aBusybox({ volumeMounts: [{ name: 'missing', mountPath: '/missing' }] })],
    });
    return (await firstWarnings(cluster, faulty.namespace, since, [name])).get(name)!;
  }

  test('has its status before its warning event', async () => {
    const stop = faulty.proxy.fault({ matches: isStatusPatch, delayMs: 3000 });
    const warning = await firstWarning('late');
    stop();
    assert.equal(warning.reason, 'FailedMount');
    await faulty.pods.until('late', 'has a status', ({ status }) => status?.startTime !== undefined);
    assertStatusCameFirst(faulty.pods, warning, ({ status }) => status?.startTime !== undefined);
  });

  test('has its warning event even when its status is refused', async () => {
    const stop = faulty.proxy.fault({ matches: isStatusPatch, answer: { status: 500 } });
    const warning = await firstWarning('refused');
    assert.equal(warning.reason, 'FailedMount');
    assert.equal(faulty.pods.get('refused')?.status?.startTime, undefined);
    stop();
    await faulty.pods.until('refused', 'has its status after the fault', ({ status }) => status?.startTime !== undefined);
  });
});
