/** Pods with a user namespace (`hostUsers: false`), on a containerd with support (2.1) and on one without (1.7). */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { runningOf, sandboxesOf } from '../support/kubelet/observed-node-state.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const idsPerPod = 65_536;

const untilStopped = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

/** The first ID of the host in a line of /proc/PID/uid_map. */
function hostIDOf(map: string): number {
  const [, inside, outside, length] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/m.exec(map) ?? [];
  assert.deepEqual([inside, length], ['0', String(idsPerPod)], map);
  return Number(outside);
}

describe('a pod with a user namespace', () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, { containerd: '2.1' });
    await node.startKubelet();
  });
  after(() => node.destroy());

  const apply = (name: string, spec: Partial<PodSpec>) => node.apply(aManifest(name, { hostUsers: false, ...spec }));
  /** Waits for the two lines that a container prints at its start. */
  const outputOf = (pod: Pod, restart = 0) =>
    waitUntil('the container prints its IDs', () => {
      const output = node.logsOf(pod, 'app', restart);
      return output.split('\n').length === 2 ? output : undefined;
    });
  const fileOf = ({ metadata }: Pod) => join(node.rootDir, 'pods', metadata.uid, 'userns');

  test('runs its root as another user of the host, and keeps these IDs across a restart of the kubelet', async () => {
    const printing = aBusybox({ sh: `cat /proc/self/uid_map; id -u; ${untilStopped}` });
    apply('one', { containers: [printing] });
    apply('two', { containers: [printing] });
    const [one, two] = await Promise.all([node.untilRunning('one'), node.untilRunning('two')]);
    const maps = await Promise.all([outputOf(one), outputOf(two)]);
    const ids = maps.map(hostIDOf);
    assert.ok(ids.every((id) => id >= idsPerPod && id % idsPerPod === 0));
    assert.notEqual(ids[0], ids[1]);
    assert.ok(maps.every((map) => map.endsWith('\n0')));
    const mappings = [{ hostId: ids[0], containerId: 0, length: idsPerPod }];
    assert.deepEqual(JSON.parse(readFileSync(fileOf(one), 'utf8')), { uidMappings: mappings, gidMappings: mappings });

    await node.stopKubelet();
    await node.startKubelet();
    apply('three', { containers: [printing] });
    const three = await node.untilRunning('three');
    assert.ok(!ids.includes(hostIDOf(await outputOf(three))));
    // A container that is created now joins the user namespace of its pod, which must have the same IDs.
    const [container] = await runningOf(node, one.metadata.uid);
    await node.cri.runtime.call('stopContainer', { containerId: container!, timeout: 0n }, { deadlineMs: 10_000 });
    const restarted = await node.until('one', 'is restarted', ({ status }) => {
      const app = status?.containerStatuses?.[0];
      return app?.restartCount === 1 && app.state?.running !== undefined;
    });
    assert.equal(hostIDOf(await outputOf(restarted, 1)), ids[0]);

    node.delete('one');
    await node.untilGone('one');
    await waitUntil('its IDs are free', () => !existsSync(fileOf(one)));
  });
});

test('a runtime without user namespaces runs no such pod, and the event says so', async (t) => {
  const node = await TestNode.start(t, { containerd: '1.7' });
  await node.startKubelet();
  node.apply(aManifest('refused', { hostUsers: false }));
  const event = "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  await waitUntil('the pod is refused', () => node.log().includes(event), 20_000);
  const [pod] = await node.pods();
  assert.equal(pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason, 'ContainerCreating');
  assert.ok(!existsSync(join(node.rootDir, 'pods', pod.metadata.uid, 'userns')));
  assert.deepEqual(await sandboxesOf(node), []);
});
