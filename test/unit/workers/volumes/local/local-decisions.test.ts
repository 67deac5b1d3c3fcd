/** What is decided of disks and mounts without touching them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskFormat, fsckProblem, isFilesystemType, mkfsArguments } from '../../../../../src/workers/volumes/local/disk-format.ts';
import { HangingVolumes } from '../../../../../src/workers/volumes/local/hanging-volumes.ts';
import { bindMount, FilesystemMismatch, formatAndMount, type RunProgram } from '../../../../../src/workers/volumes/local/host-programs.ts';
import { deviceMountPath, podMountsNamed, podMountsOf } from '../../../../../src/workers/volumes/local/local-paths.ts';
import { bindRemountOptions, hasFlags } from '../../../../../src/workers/volumes/local/mount-options.ts';
import { parseMountInfo } from '../../../../../src/shared/linux/mountinfo.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { table } from '../../../../support/table.ts';

table('the format of a disk', (row) => {
  const formats: readonly (readonly [name: string, code: number, stdout: string, want: string | RegExp])[] = [
    ['ext4', 0, 'DEVNAME=/dev/sdb\nTYPE=ext4\n', 'ext4'],
    ['nothing', 2, '', ''],
    ['a partition table', 0, 'PTTYPE=dos\n', 'unknown data, probably partitions'],
    ['a partition table with a filesystem', 0, 'TYPE=vfat\nPTTYPE=gpt\n', 'unknown data, probably partitions'],
    ['other lines', 0, 'DEVNAME=/dev/sdb\n', ''],
    ['an ambiguous disk', 8, '', /exit status 8/],
    ['a line without a value', 0, 'TYPE\n', /blkid returns invalid output: TYPE/],
    ['a line with two values', 0, 'TYPE=a=b\n', /blkid returns invalid output/],
  ];
  for (const [name, code, stdout, want] of formats)
    row(name, () => {
      const format = diskFormat({ code, stdout });
      if (want instanceof RegExp) assert.match(typeof format === 'string' ? format : format.problem, want);
      else assert.equal(format, want);
    });
});

test('mkfs gets arguments by the type, and only names of filesystems', () => {
  assert.deepEqual(mkfsArguments('ext4', '/d'), ['-F', '-m0', '/d']);
  assert.deepEqual(mkfsArguments('xfs', '/d'), ['-f', '/d']);
  assert.deepEqual(mkfsArguments('btrfs', '/d'), ['/d']);
  assert.deepEqual(['ext4', 'fuse.sshfs', '', '../x', 'a/b', '-f', 'x'.repeat(33)].map(isFilesystemType), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('only errors that fsck has left keep a disk from being mounted', () => {
  assert.deepEqual(
    [0, 1, 2, 8, 12, 127].map((code) => fsckProblem('/d', code, '')),
    [null, null, null, null, null, null],
  );
  assert.equal(fsckProblem('/d', 4, 'bad'), "'fsck' found errors on device /d but could not correct them: bad");
});

/** Programs with these exit codes and outputs. */
function programs(exits: Readonly<Record<string, readonly [code: number, output: string]>>) {
  const calls: string[] = [];
  const run: RunProgram = async (program, args) => {
    calls.push([program, ...args].join(' '));
    const [code, stdout] = exits[program] ?? [0, ''];
    return { result: 'exited', code, stdout, stderr: '' };
  };
  return { calls, run };
}
const disk = { device: '/dev/sdb', target: '/t', fsType: 'ext4', options: ['noatime'] };

table('a disk is examined before it is formatted or mounted', (row) => {
  row('an empty one is formatted', async () => {
    const { calls, run } = programs({ blkid: [2, ''] });
    await formatAndMount(disk, run);
    assert.deepEqual(calls.slice(1), ['mkfs.ext4 -F -m0 /dev/sdb', 'mount -t ext4 -o noatime,defaults /dev/sdb /t']);
  });
  row('an empty one is not formatted for a reader', async () => {
    const { calls, run } = programs({ blkid: [2, ''] });
    await assert.rejects(formatAndMount({ ...disk, options: ['ro'] }, run), {
      message: 'cannot mount unformatted disk /dev/sdb as we are manipulating it in read-only mode',
    });
    assert.equal(calls.length, 1);
  });
  row('a formatted one is checked', async () => {
    const { calls, run } = programs({ blkid: [0, 'TYPE=ext4'], fsck: [1, ''] });
    await formatAndMount(disk, run);
    assert.deepEqual(calls.slice(1), ['fsck -a /dev/sdb', 'mount -t ext4 -o noatime,defaults /dev/sdb /t']);
  });
  row('a formatted one is not checked for a reader', async () => {
    const { calls, run } = programs({ blkid: [0, 'TYPE=ext4'] });
    await formatAndMount({ ...disk, options: ['ro'] }, run);
    assert.deepEqual(calls.slice(1), ['mount -t ext4 -o ro,defaults /dev/sdb /t']);
  });
  row('one with errors is not mounted', async () => {
    const { calls, run } = programs({ blkid: [0, 'TYPE=ext4'], fsck: [4, 'inode 7'] });
    await assert.rejects(formatAndMount(disk, run), /could not correct them: inode 7/);
    assert.equal(calls.length, 2);
  });
  row('one with another filesystem is never formatted', async () => {
    const { calls, run } = programs({ blkid: [0, 'TYPE=xfs'], mount: [32, 'wrong fs type'] });
    await assert.rejects(formatAndMount(disk, run), FilesystemMismatch);
    assert.ok(!calls.some((call) => call.startsWith('mkfs')));
  });
  row('one that blkid can’t read is never formatted', async () => {
    const { calls, run } = programs({ blkid: [8, ''] });
    await assert.rejects(formatAndMount(disk, run), { message: 'failed to get disk format of disk /dev/sdb: exit status 8' });
    assert.equal(calls.length, 1);
  });
  row('a failed format names the program’s output', async () => {
    const { run } = programs({ blkid: [2, ''], 'mkfs.ext4': [1, 'in use'] });
    await assert.rejects(formatAndMount(disk, run), {
      message:
        'format of disk "/dev/sdb" failed: type:("ext4") target:("/t") options:(["noatime" "defaults"]) errcode:(exit status 1) output:(in use) ',
    });
  });
  row('a failed mount names the command', async () => {
    const { run } = programs({ mount: [32, 'busy'] });
    await assert.rejects(bindMount('/a', '/t', run), {
      message: 'mount failed: exit status 32\nMounting command: mount\nMounting arguments: -o bind /a /t\nOutput: busy',
    });
  });
});

test('a remount keeps the flags of the source, and a mount without them is found', () => {
  assert.equal(bindRemountOptions([], { options: ['rw', 'nosuid'] }), null);
  assert.deepEqual(bindRemountOptions(['ro'], { options: ['rw', 'nosuid', 'relatime'] }), ['bind', 'remount', 'ro', 'nosuid', 'relatime']);
  assert.equal(hasFlags(['ro', 'discard'], { options: ['ro'] }), true);
  assert.equal(hasFlags(['ro', 'noexec'], { options: ['ro'] }), false);
});

test('the mounts of a folder in pods are found by device and root, those of a volume by its name', () => {
  const mounts = parseMountInfo(
    [
      '1 0 8:1 / / rw - ext4 /dev/sda1 rw',
      '2 1 8:1 /mnt/a /k/pods/u1/volumes/kubernetes.io~local-volume/pv1 rw - ext4 /dev/sda1 rw',
      '3 1 8:1 /mnt/ab /k/pods/u2/volumes/kubernetes.io~local-volume/pv2 rw - ext4 /dev/sda1 rw',
      '4 1 8:1 /mnt/a /elsewhere rw - ext4 /dev/sda1 rw',
      '5 1 0:9 / /mnt/t rw - tmpfs tmpfs rw',
      '6 1 0:9 / /k/pods/u3/volumes/kubernetes.io~local-volume/pv3 rw - tmpfs tmpfs rw',
    ].join('\n'),
  );
  const idsOf = (source: string) => podMountsOf(mounts, '/k', source).map(({ id }) => id);
  assert.deepEqual([idsOf('/mnt/a'), idsOf('/mnt/t'), idsOf('/mnt')], [[2], [6], []]);
  assert.deepEqual(
    podMountsNamed(mounts, '/k', 'pv1').map(({ id }) => id),
    [2],
  );
});

test('a name that leads elsewhere is no folder', () => {
  for (const name of ['', '.', '..', 'a/b']) assert.throws(() => deviceMountPath('/k', name), /cannot be the name/);
});

test('a volume that does not answer is tried again ever more rarely, and others at once', async () => {
  const clock = new FakeClock();
  const hanging = new HangingVolumes(clock);
  let calls = 0;
  const hang = async () => {
    calls += 1;
    throw Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
  };
  await assert.rejects(hanging.run('pv1', hang), /no answer/);
  await clock.advance(59_000);
  await assert.rejects(hanging.run('pv1', hang), { message: 'the filesystem has not answered for 59s; next attempt in 1s' });
  assert.equal(await hanging.run('pv2', async () => 7), 7);
  await clock.advance(1000);
  await assert.rejects(hanging.run('pv1', hang), /no answer/);
  await clock.advance(119_000);
  await assert.rejects(hanging.run('pv1', hang), { message: 'the filesystem has not answered for 2m59s; next attempt in 1s' });
  assert.equal(calls, 2);
  await clock.advance(1000);
  assert.equal(await hanging.run('pv1', async () => 8), 8);
  await assert.rejects(hanging.run('pv1', hang), /no answer/);
});
