import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as paths from '../../../../src/shared/kubernetes/paths.ts';
import { table } from '../../../support/table.ts';

test("a pod's files have upstream's paths", () => {
  const root = '/var/lib/kubelet';
  assert.equal(
    paths.podVolumeDir(root, 'u1', 'kubernetes.io/empty-dir', 'v'),
    '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/v',
  );
  assert.equal(paths.podPluginDir(root, 'u1', 'kubernetes.io/empty-dir'), '/var/lib/kubelet/pods/u1/plugins/kubernetes.io~empty-dir');
  assert.equal(paths.podContainerDir(root, 'u1', 'c'), '/var/lib/kubelet/pods/u1/containers/c');
  assert.equal(paths.subpathTarget(root, 'u1', 'v', 'c', 2), '/var/lib/kubelet/pods/u1/volume-subpaths/v/c/2');
  assert.equal(paths.etcHostsPath(root, 'u1'), '/var/lib/kubelet/pods/u1/etc-hosts');
  const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' } };
  assert.equal(paths.containerLogsDirectory('/var/log/pods', pod, 'c'), '/var/log/pods/default_web_u1/c');
  assert.equal(paths.containerLogPath('c', 3), 'c/3.log');
});

table('a pod UID that is a path is rejected', (row) => {
  for (const uid of ['', '.', '..', '../etc', 'a/b', 'a\0b']) {
    row(`a pod UID ${JSON.stringify(uid)} is rejected`, () => {
      assert.throws(() => paths.podDir('/var/lib/kubelet', uid), /cannot be the name of a folder/);
    });
  }
});
