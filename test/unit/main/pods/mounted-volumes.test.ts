/** How many volumes there are, read as the server thread renders it. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { MountedVolumes } from '../../../../src/main/pods/mounted-volumes.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { totalVolumes, volumeOperationTotal } from '../../../../src/shared/metrics/definitions/volumes.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../src/shared/metrics/index.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/fake-node.ts';
import { aContainer, aPod } from '../../../support/pods.ts';

const sources = {
  scratch: { emptyDir: {} },
  login: { secret: { secretName: 's' } },
  host: { hostPath: { path: '/srv' } },
  disk: { nfs: { server: 's', path: '/' } },
};

/** A pod that has these volumes, and one more that no container uses. */
function aPodWith(uid: string, ...names: (keyof typeof sources)[]): Pod {
  return aPod({
    metadata: { name: uid, uid },
    spec: {
      containers: [aContainer({ volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) })],
      volumes: [{ name: 'unused', emptyDir: {} }, ...names.map((name) => ({ name, ...sources[name] }))],
    },
  });
}

// A hook outside would run around the tests of every file: they share one process.
describe('the count of volumes', () => {
  let segment: SharedArrayBuffer;
  beforeEach(() => bindMetrics((segment = createMetricsSegment())));
  after(() => bindMetrics(null));

  /** `desired kubernetes.io/secret 1` */
  const counted = () =>
    [...renderMetrics([segment], [totalVolumes]).matchAll(/\{plugin_name="(.*)",state="(.*)_state_of_world"\} (\d+)/g)]
      .map(([, plugin, state, count]) => `${state} ${plugin} ${count}`)
      .toSorted();
  const uid = 'a' as PodUID;

  test('each volume that a container uses is wanted while its pod runs, and actual while it is set up', () => {
    const count = new MountedVolumes(new FakeClock());
    count.addPod(aPodWith('a', 'scratch', 'login'));
    count.addPod(aPodWith('a', 'scratch', 'login'));
    count.addPod(aPodWith('b', 'scratch', 'host', 'disk'));
    const desired = [
      'desired N/A 1',
      'desired kubernetes.io/empty-dir 2',
      'desired kubernetes.io/host-path 1',
      'desired kubernetes.io/secret 1',
    ];
    assert.deepEqual(counted(), desired);
    count.setMounted(uid, ['scratch', 'login']);
    count.setMounted('b' as PodUID, ['scratch', 'host']);
    const actual = ['actual kubernetes.io/empty-dir 2', 'actual kubernetes.io/host-path 1', 'actual kubernetes.io/secret 1'];
    assert.deepEqual(counted(), [...actual, ...desired]);
    count.setMounted(uid, ['scratch']);
    count.removePod('b' as PodUID);
    assert.deepEqual(counted(), [
      'actual kubernetes.io/empty-dir 1',
      'desired kubernetes.io/empty-dir 1',
      'desired kubernetes.io/secret 1',
    ]);
    count.markUnwanted(uid);
    assert.deepEqual(counted(), ['actual kubernetes.io/empty-dir 1']);
    count.removePod(uid);
    assert.deepEqual(counted(), []);
    count.setMounted(uid, ['scratch']);
    assert.deepEqual(counted(), []);
  });

  test('main knows whether all are in place, of a pod that comes to use one more as well', () => {
    const count = new MountedVolumes(new FakeClock());
    assert.equal(count.areAllMounted(uid), true);
    count.addPod(aPodWith('a', 'scratch'));
    assert.equal(count.areAllMounted(uid), false);
    count.setMounted(uid, ['scratch']);
    assert.equal(count.areAllMounted(uid), true);
    count.addPod(aPodWith('a', 'scratch', 'login'));
    assert.equal(count.areAllMounted(uid), false);
  });

  test('how long a volume took is measured once, from when it was wanted', async () => {
    const clock = new FakeClock();
    const count = new MountedVolumes(clock);
    count.addPod(aPodWith('a', 'scratch', 'login'));
    await clock.advance(400);
    count.setMounted(uid, ['scratch']);
    await clock.advance(2600);
    for (const names of [['scratch', 'login'], [], ['scratch', 'login']]) count.setMounted(uid, names);
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

  test("follows the pods' lives", async () => {
    const node = new FakeNode();
    const pod = aPodWith('a', 'scratch');
    await node.add(pod);
    const { task } = node.task('sync');
    assert.equal(task.kind === 'sync' && task.volumesMounted, false);
    assert.deepEqual(counted(), ['desired kubernetes.io/empty-dir 1']);
    node.volumes.setMounted(uid, ['scratch']);
    await node.completeTask(node.task('sync'));
    await node.remove(pod);
    assert.deepEqual(counted(), ['actual kubernetes.io/empty-dir 1', 'desired kubernetes.io/empty-dir 1']);
    await node.completeTask(node.task('terminating'));
    assert.deepEqual(counted(), ['actual kubernetes.io/empty-dir 1']);
    await node.completeTask(node.task('terminated'));
    assert.deepEqual(counted(), []);
  });
});
