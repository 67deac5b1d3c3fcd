import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { removePodLogDirectories } from '../../../src/workers/images/container-gc/log-gc.ts';

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
