import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { deepestFirst, isWithin, mountsBelow, parseMountInfo, readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';

const table = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
36 22 0:33 / /var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/mem rw,relatime shared:9 - tmpfs tmpfs rw,size=1024k,noswap
37 22 8:1 /data/a\\040b /var/lib/kubelet/pods/u1/volume-subpaths/v/c/0 rw - ext4 /dev/sda1 rw
38 22 0:40 / /var/lib/kubelet/pods/u10/volumes/kubernetes.io~empty-dir/mem rw - tmpfs tmpfs rw
39 22 0:41 / /mnt/with\\040blank\\134slash rw - hugetlbfs nodev rw,pagesize=2M
40 36 0:42 / /var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/mem/deeper rw master:3 propagate_from:2 - tmpfs tmpfs rw
41 22 8:1 /var/lib/kubelet/pods/u1 /srv/elsewhere rw - ext4 /dev/sda1 rw
not a line
`;

test('a line of the mount table is parsed, with its escapes decoded', () => {
  const mounts = parseMountInfo(table);
  assert.equal(mounts.length, 7);
  assert.equal(mounts[2]?.root, '/data/a b');
  assert.equal(mounts[4]?.mountPoint, '/mnt/with blank\\slash');
  assert.deepEqual(mounts[4]?.superOptions, ['rw', 'pagesize=2M']);
  assert.equal(mounts[1]?.fsType, 'tmpfs');
});

test('the mounts of a pod do not include those of a UID with the same prefix, nor bind mounts of its folder elsewhere', () => {
  const ids = (dir: string) => mountsBelow(table, dir).map(({ id }) => id);
  assert.deepEqual(ids('/var/lib/kubelet/pods/u1'), [36, 37, 40]);
  assert.deepEqual(ids('/var/lib/kubelet/pods/u10'), [38]);
  assert.deepEqual(ids('/mnt/with blank\\slash'), [39]);
  assert.deepEqual(ids('/nowhere'), []);
});

test('deeper mounts, and later mounts at the same path, are unmounted first', () => {
  const order = deepestFirst(mountsBelow(table, '/var/lib/kubelet/pods/u1')).map(({ id }) => id);
  assert.ok(order.indexOf(40) < order.indexOf(36));
  const stacked = parseMountInfo('50 1 0:50 / /m rw - tmpfs a rw\n51 50 0:51 / /m rw - tmpfs b rw\n');
  assert.deepEqual(
    deepestFirst(stacked).map(({ id }) => id),
    [51, 50],
  );
});

test('isWithin compares whole path components', () => {
  assert.ok(isWithin('/a/b', '/a/b'));
  assert.ok(isWithin('/a/b/c', '/a/b'));
  assert.ok(isWithin('/a', '/'));
  assert.ok(!isWithin('/a/bc', '/a/b'));
});

test('concurrent calls share one read, which starts after all of them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mounts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'mountinfo');
  writeFileSync(path, '');
  const read = t.mock.method(fs, 'readFileSync');
  syncBuiltinESMExports();
  t.after(() => (read.mock.restore(), syncBuiltinESMExports()));
  const dirs = ['u10', 'u10', 'u11'].map((uid) => `/var/lib/kubelet/pods/${uid}`);
  const results = dirs.map((dir) => readMountsBelow(dir, { path, kernel: '6.1.0' }));
  writeFileSync(path, table);
  assert.deepEqual(
    (await Promise.all(results)).map((mounts) => mounts.map(({ id }) => id)),
    [[38], [38], []],
  );
  assert.equal(read.mock.callCount(), 1);
  await readMountsBelow(dirs[0]!, { path, kernel: '6.1.0' });
  assert.equal(read.mock.callCount(), 2);
});

test('one read of the table is enough, except on an old kernel, where two reads must agree', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mounts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'mountinfo');
  writeFileSync(path, table);
  for (const kernel of ['6.1.0-amd64', '5.8.0', '5.7.19', '4.19.0-27-amd64']) {
    const mounts = await readMountsBelow('/var/lib/kubelet/pods/u10', { path, kernel });
    assert.deepEqual([kernel, mounts.map(({ id }) => id)], [kernel, [38]]);
  }
});
