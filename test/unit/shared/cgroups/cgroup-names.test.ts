import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cgroupPath,
  childCgroup,
  podCgroup,
  podsCgroup,
  podUIDOfCgroup,
  qosCgroup,
  type CgroupDriver,
} from '../../../../src/shared/cgroups/cgroup-names.ts';
import type { QosClass } from '../../../../src/shared/kubernetes/qos-class.ts';
import { table } from '../../../support/table.ts';

const uid = '0d9-44-ab';
const layout = { cgroupRoot: '/', cgroupsPerQOS: true };

const cases: { driver: CgroupDriver; qos: QosClass; path: string }[] = [
  { driver: 'cgroupfs', qos: 'Guaranteed', path: '/kubepods/pod0d9-44-ab' },
  { driver: 'cgroupfs', qos: 'Burstable', path: '/kubepods/burstable/pod0d9-44-ab' },
  { driver: 'cgroupfs', qos: 'BestEffort', path: '/kubepods/besteffort/pod0d9-44-ab' },
  {
    driver: 'systemd',
    qos: 'Guaranteed',
    path: '/kubepods.slice/kubepods-pod0d9_44_ab.slice',
  },
  {
    driver: 'systemd',
    qos: 'Burstable',
    path: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d9_44_ab.slice',
  },
];
table('a pod’s cgroup is named as its driver requires', (row) => {
  for (const { driver, qos, path } of cases) {
    row(`a ${qos} pod's cgroup has its ${driver} name`, () => {
      const name = podCgroup(layout, qos, uid);
      assert.equal(cgroupPath(name, driver), path);
      assert.equal(podUIDOfCgroup(path.split('/').at(-1)!, driver), uid);
    });
  }
});

test('the cgroups of pods are below the configured cgroup root', () => {
  const name = qosCgroup({ cgroupRoot: '/test/node', cgroupsPerQOS: true }, 'Burstable');
  assert.equal(cgroupPath(name, 'cgroupfs'), '/test/node/kubepods/burstable');
  assert.equal(cgroupPath(name, 'systemd'), '/test.slice/test-node.slice/test-node-kubepods.slice/test-node-kubepods-burstable.slice');
});

test('without cgroupsPerQOS the root itself is the cgroup of all pods', () => {
  assert.deepEqual(podsCgroup({ cgroupRoot: '/', cgroupsPerQOS: false }), []);
  assert.equal(cgroupPath([], 'cgroupfs'), '/');
  assert.equal(cgroupPath([], 'systemd'), '/');
});

test('a cgroup that does not belong to a pod has no UID', () => {
  assert.equal(podUIDOfCgroup('burstable', 'cgroupfs'), undefined);
  assert.equal(podUIDOfCgroup('pod', 'cgroupfs'), undefined);
  assert.equal(podUIDOfCgroup('kubepods-burstable.slice', 'systemd'), undefined);
});

table('a UID that cannot be part of a cgroup’s name is rejected', (row) => {
  for (const bad of ['../../etc', 'a/b', 'a_b', '', '..']) {
    row(`a UID ${JSON.stringify(bad)} is rejected`, () => {
      assert.throws(() => childCgroup(['kubepods'], bad), /cannot be part of a cgroup's name/);
    });
  }
});
