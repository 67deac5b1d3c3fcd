import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { podOfLogDirectory, removeDeadLogSymlinks, removePodLogDirectories } from '../../../src/workers/images/container-gc/log-gc.ts';

test('garbage collection removes log directories of deleted pods, but not of pods created meanwhile', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pod-logs-'));
  t.after(() => rm(folder, { recursive: true }));
  const requestedAtMs = Date.UTC(2026, 0, 1);
  for (const [name, madeAtMs] of [
    ['default_web_gone', requestedAtMs - 1000],
    ['default_web_stays', requestedAtMs - 1000],
    ['default_web_new', requestedAtMs + 1],
  ] as const) {
    await mkdir(join(folder, name, 'app'), { recursive: true });
    await utimes(join(folder, name), madeAtMs / 1000, madeAtMs / 1000);
  }
  assert.equal(await removePodLogDirectories(folder, (uid) => uid !== 'stays', requestedAtMs), 1);
  assert.deepEqual((await readdir(folder)).sort(), ['default_web_new', 'default_web_stays']);
  assert.equal(await removePodLogDirectories(join(folder, 'none'), () => true, requestedAtMs), 0);
});

test('garbage collection refuses a log directory with a mount and removes the others', async (t) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'pod-logs-')));
  const folder = join(base, 'pods');
  const mounted = join(folder, 'default_a_mounted/app');
  t.after(async () => {
    await unmount(mounted);
    await rm(base, { recursive: true });
  });
  await mkdir(mounted, { recursive: true });
  await mkdir(join(folder, 'default_b_gone/app'), { recursive: true });
  await mkdir(join(base, 'host'));
  await writeFile(join(base, 'host/precious'), 'data');
  await symlink(join(base, 'host'), join(folder, 'default_b_gone/app/link'));
  await mount(join(base, 'host'), mounted, '', MountFlag.bind, '');
  await assert.rejects(
    removePodLogDirectories(folder, () => true, Date.now() + 1000),
    /default_a_mounted\/app/,
  );
  assert.deepEqual(await readdir(folder), ['default_a_mounted']);
  assert.deepEqual(await readdir(join(base, 'host')), ['precious']);
});

test('the UID in the name of a log directory may contain underscores', () => {
  for (const [name, uid] of [
    ['default_web_1234-5678', '1234-5678'],
    ['default_web-node-1_0123abcd', '0123abcd'],
    ['default_web_a_b', 'a_b'],
    ['default_web__', '_'],
    ['default_web_', ''],
    ['default_web', 'web'],
    ['lost+found', 'lost+found'],
  ] as const) {
    assert.equal(podOfLogDirectory(name), uid, name);
  }
});

test('odd names in the log folder: UIDs with underscores stay with their pod, a symlink is removed and not followed', async (t) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'pod-logs-')));
  t.after(() => rm(base, { recursive: true }));
  const folder = join(base, 'pods');
  await mkdir(join(base, 'host/app'), { recursive: true });
  await writeFile(join(base, 'host/app/0.log'), 'data');
  for (const name of ['default_web_a_b', 'default_web_b', 'default_new\nline_gone', 'default_..._..', 'default_web_a'])
    await mkdir(join(folder, name, 'app'), { recursive: true });
  await symlink(join(base, 'host'), join(folder, 'default_link_gone'));
  await symlink(join(base, 'host'), join(folder, 'default_link_a'));
  await symlink(join(folder, 'default_web_a'), join(folder, 'default_other_gone'));
  await writeFile(join(folder, 'default_file_gone'), '');
  const known = new Set(['a', 'a_b']);
  assert.equal(await removePodLogDirectories(folder, (uid) => !known.has(uid), Date.now() + 1000), 5);
  assert.deepEqual((await readdir(folder)).sort(), ['default_file_gone', 'default_link_a', 'default_web_a', 'default_web_a_b']);
  assert.deepEqual(await readdir(join(base, 'host/app')), ['0.log']);
});

test('symlinks to removed logs are removed, except those of running containers and of other programs', async (t) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'pod-logs-')));
  t.after(() => rm(base, { recursive: true }));
  const [pods, containers] = [join(base, 'pods'), join(base, 'containers')];
  await mkdir(join(pods, 'default_web_a/app'), { recursive: true });
  await mkdir(containers);
  await writeFile(join(pods, 'default_web_a/app/0.log'), '');
  const gone = join(pods, 'default_web_b/app/0.log');
  for (const [name, target] of [
    ['web_default_app-aaaaaaaaaaaa.log', join(pods, 'default_web_a/app/0.log')],
    ['web_default_app-bbbbbbbbbbbb.log', gone],
    ['web_default_app-running123.log', gone],
    // A long name ends in the start of the ID.
    ['long_default_app-running.log', gone],
    ['long_default_app-run.log', gone],
    ['no-id.log', gone],
    ['dangling_default_app-cccccccccccc.log', join(base, 'elsewhere/0.log')],
    ['other-program', gone],
  ] as const) {
    await symlink(target, join(containers, name));
  }
  await writeFile(join(containers, 'file_default_app-dddddddddddd.log'), '');
  await mkdir(join(containers, 'folder-eeeeeeeeeeee.log'));
  assert.equal(await removeDeadLogSymlinks(containers, pods, ['running123']), 3);
  assert.deepEqual((await readdir(containers)).sort(), [
    'dangling_default_app-cccccccccccc.log',
    'file_default_app-dddddddddddd.log',
    'folder-eeeeeeeeeeee.log',
    'long_default_app-running.log',
    'other-program',
    'web_default_app-aaaaaaaaaaaa.log',
    'web_default_app-running123.log',
  ]);
  assert.equal(await removeDeadLogSymlinks(join(base, 'none'), pods, []), 0);
});
