/** The published status of a container that the kubelet restarts itself, in a pod that does not restart exited containers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { aBusybox, aManifest, busybox } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-container-restarts';
/** Another name of the same image. */
const otherTag = busybox.replace(':1', ':2');

describe('a container whose image is changed', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
    node.node.containerd.ctr('images', 'tag', busybox, otherTag);
  });
  after(() => node?.destroy());

  const app = ({ status }: Pod) => status?.containerStatuses?.[0];

  for (const restartPolicy of ['Never', 'OnFailure', 'Always'] as const) {
    test(`is never shown as terminated under ${restartPolicy}, while its pod's status is updated`, async (t) => {
      const name = `changed-${restartPolicy.toLowerCase()}`;
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      // The container exits with 0 after a while, long enough for each inspection to be published.
      const sh = 'trap "sleep 1; exit 0" TERM; while :; do sleep 1000 & wait $!; done';
      await pods.create(aManifest(name, { nodeName, restartPolicy, terminationGracePeriodSeconds: 20, containers: [aBusybox({ sh })] }));
      const first = await pods.until(name, 'runs', (pod) => app(pod)?.ready === true);
      await node.kubectl('set', 'image', `pod/${name}`, `app=${otherTag}`);
      const restarted = await pods.until(
        name,
        'runs its second container instance',
        (pod) => app(pod)?.restartCount === 1 && app(pod)?.ready === true,
      );
      assert.equal(restarted.status?.phase, 'Running');
      // The runtime reports either tag.
      assert.deepEqual([app(first)?.image, app(restarted)?.image], [busybox, otherTag]);
      assert.equal(app(restarted)?.lastState?.terminated?.exitCode, 0);
      const states = pods.seen(name).map((pod) => Object.keys(app(pod)?.state ?? {})[0]);
      assert.ok(!states.includes('terminated'), states.join());
      assert.ok(pods.seen(name).every(({ status }) => status?.phase === 'Pending' || status?.phase === 'Running'));
      // Later changes are published, too.
      await node.exec(name, 'kill 1');
      await pods.until(name, 'shows that its second instance has terminated', (pod) => {
        const { state, lastState } = app(pod) ?? {};
        return (state?.terminated ?? lastState?.terminated)?.containerID === app(restarted)?.containerID;
      });
    });
  }

  test('is shown as terminated when it cannot be started again', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    await pods.create(aManifest('unpullable', { nodeName, restartPolicy: 'Never', containers: [aBusybox()] }));
    await pods.until('unpullable', 'runs', (pod) => app(pod)?.ready === true);
    await node.kubectl('set', 'image', 'pod/unpullable', 'app=local.example/none-such:1');
    const ended = await pods.until('unpullable', 'has ended', ({ status }) => status?.phase === 'Succeeded');
    assert.equal(app(ended)?.state?.terminated?.exitCode, 0);
  });
});
