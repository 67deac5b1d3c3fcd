/** The volume counts of MountedVolumes, read from the rendered metrics. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { MountedVolumes } from '../../../../src/main/pods/mounted-volumes.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { totalVolumes, volumeOperationTotal } from '../../../../src/shared/metrics/definitions/volumes.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../src/shared/metrics/index.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

const sources = {
  scratch: { emptyDir: {} },
  login: { secret: { secretName: 's' } },
  host: { hostPath: { path: '/srv' } },
  disk: { glusterfs: { endpoints: 's', path: '/' } },
};

/** A pod with these volumes and one volume that no container uses. */
function aPodWith(uid: string, ...names: (keyof typeof sources)[]): Pod {
  return aPod({
    metadata: { name: uid, uid },
    spec: {
      containers: [aContainer({ volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) })],
      volumes: [{ name: 'unused', emptyDir: {} }, ...names.map((name) => ({ name, ...sources[name] }))],
    },
  });
}

// All test files share one process: a hook outside of this suite would run for the tests of every file.
describe('volume metrics', () => {
  let segment: SharedArrayBuffer;
  beforeEach(() => bindMetrics((segment = createMetricsSegment())));
  after(() => bindMetrics(null));

  /** Lines such as `desired kubernetes.io/secret 1`. */
  const counts = () =>
    [...renderMetrics([segment], [totalVolumes]).matchAll(/\{plugin_name="(.*)",state="(.*)_state_of_world"\} (\d+)/g)]
      .map(([, plugin, state, count]) => `${state} ${plugin} ${count}`)
      .toSorted();
  const uid = 'a' as PodUID;

  test('a volume that a container uses is desired while its pod runs, and actual while it is mounted', () => {
    const volumes = new MountedVolumes(new FakeClock());
    volumes.addPod(aPodWith('a', 'scratch', 'login'));
    volumes.addPod(aPodWith('a', 'scratch', 'login'));
    volumes.addPod(aPodWith('b', 'scratch', 'host', 'disk'));
    const desired = [
      'desired N/A 1',
      'desired kubernetes.io/empty-dir 2',
      'desired kubernetes.io/host-path 1',
      'desired kubernetes.io/secret 1',
    ];
    assert.deepEqual(counts(), desired);
    volumes.setMounted(uid, ['scratch', 'login']);
    volumes.setMounted('b' as PodUID, ['scratch', 'host']);
    const actual = ['actual kubernetes.io/empty-dir 2', 'actual kubernetes.io/host-path 1', 'actual kubernetes.io/secret 1'];
    assert.deepEqual(counts(), [...actual, ...desired]);
    volumes.setMounted(uid, ['scratch']);
    volumes.removePod('b' as PodUID);
    assert.deepEqual(counts(), ['actual kubernetes.io/empty-dir 1', 'desired kubernetes.io/empty-dir 1', 'desired kubernetes.io/secret 1']);
    volumes.removeDesired(uid);
    assert.deepEqual(counts(), ['actual kubernetes.io/empty-dir 1']);
    volumes.removePod(uid);
    assert.deepEqual(counts(), []);
    volumes.setMounted(uid, ['scratch']);
    assert.deepEqual(counts(), []);
  });

  test('the volumes of a pod are all mounted until the pod uses another volume', () => {
    const volumes = new MountedVolumes(new FakeClock());
    assert.equal(volumes.areAllMounted(uid), true);
    volumes.addPod(aPodWith('a', 'scratch'));
    assert.equal(volumes.areAllMounted(uid), false);
    volumes.setMounted(uid, ['scratch']);
    assert.equal(volumes.areAllMounted(uid), true);
    volumes.addPod(aPodWith('a', 'scratch', 'login'));
    assert.equal(volumes.areAllMounted(uid), false);
  });

  test('the duration from desired to mounted is observed once per volume', async () => {
    const clock = new FakeClock();
    const volumes = new MountedVolumes(clock);
    volumes.addPod(aPodWith('a', 'scratch', 'login'));
    await clock.advance(400);
    volumes.setMounted(uid, ['scratch']);
    await clock.advance(2600);
    for (const names of [['scratch', 'login'], [], ['scratch', 'login']]) volumes.setMounted(uid, names);
    const lines = renderMetrics([segment], [volumeOperationTotal]).split('\n');
    const sums = lines.filter((line) => /_(sum|count)/.test(line)).map((line) => line.slice('volume_operation_total_seconds_'.length));
    const labels = (plugin: string) => `{operation_name="overall_volume_mount",plugin_name="kubernetes.io/${plugin}"}`;
    assert.deepEqual(sums, [
      `sum${labels('empty-dir')} 0.4`,
      `count${labels('empty-dir')} 1`,
      `sum${labels('secret')} 3`,
      `count${labels('secret')} 1`,
    ]);
  });

  test('the counts follow the lifecycle of a pod', async () => {
    const node = await FakeNode.start();
    const pod = aPodWith('a', 'scratch');
    await node.add(pod);
    const { task } = node.task('sync');
    assert.equal(task.kind === 'sync' && task.volumesMounted, false);
    assert.deepEqual(counts(), ['desired kubernetes.io/empty-dir 1']);
    node.taskHandlers.volumesMounted?.(['scratch'], task);
    await node.completeTask(node.task('sync'));
    await node.remove(pod);
    assert.deepEqual(counts(), ['actual kubernetes.io/empty-dir 1', 'desired kubernetes.io/empty-dir 1']);
    await node.completeTask(node.task('terminating'));
    assert.deepEqual(counts(), ['actual kubernetes.io/empty-dir 1']);
    await node.completeTask(node.task('terminated'));
    assert.deepEqual(counts(), []);
  });
});
