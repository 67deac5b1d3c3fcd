/** bindMountOptions of a volumeMount, with a real API server, and a simulated runtime that reports `mount_options`: no containerd does so far. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { NodeStatus } from '../../src/main/node/node-object.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { startSimulatedMember, type SimulatedMember } from '../support/cluster/simulated-member.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const image = 'sim/run:1';
const withOptions = (name: string, mountPath: string, ...bindMountOptions: string[]) => ({
  name,
  image,
  volumeMounts: [
    { name: 'data', mountPath, bindMountOptions },
    { name: 'data', mountPath: '/plain' },
  ],
});

describe('a runtime with mount options', () => {
  const hooks = new Cleanups();
  let node: SimulatedMember;
  before(async () => {
    node = await startSimulatedMember(hooks, 'bind-mounts', {
      runtime: { mountOptions: true },
      featureGates: { VolumeBindMountOptions: true },
    });
  });
  after(() => hooks.run());

  test('gets the bind mount options of each container, from a node that declares them', async () => {
    const { cluster, runtime, namespace } = node;
    await node.create('options', {
      initContainers: [{ ...withOptions('sidecar', '/init', 'nodev'), restartPolicy: 'Always' }],
      containers: [withOptions('app', '/app', 'nosuid', 'noexec')],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    const path = `/api/v1/namespaces/${namespace}/pods/options`;
    await waitUntil('the pod runs', async () => (await cluster.api.get<Pod>(path)).status?.phase === 'Running', 60_000);
    const { containers } = await runtime.control.state();
    assert.deepEqual(Object.fromEntries(containers.map(({ name, mountOptions }) => [name, mountOptions])), {
      sidecar: [{ containerPath: '/init', options: ['nodev'] }],
      app: [{ containerPath: '/app', options: ['nosuid', 'noexec'] }],
    });
    const { status } = await cluster.api.get<{ status: NodeStatus }>('/api/v1/nodes/bind-mounts');
    assert.ok(status.declaredFeatures?.includes('VolumeBindMountOptions'), JSON.stringify(status.declaredFeatures));
  });
});
