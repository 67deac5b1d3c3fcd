/** Files and folders that the kubelet creates by handle, while symlinks of others are in their place. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { changeFolderMode, createFile, withFolder } from '../../../src/workers/pod-sync/pod/volumes/file-by-handle.ts';
import { ownerOf } from '../../support/pods/volumes-suite.ts';

async function folders(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'by-handle-'));
  t.after(() => rm(base, { recursive: true }));
  const [inside, outside] = [join(base, 'inside'), join(base, 'outside')];
  await mkdir(inside);
  await mkdir(outside, { mode: 0o711 });
  await writeFile(join(outside, 'precious'), 'data', { mode: 0o600 });
  return { inside, outside };
}

test('a file gets its mode and its user, whatever the umask is', async (t) => {
  const { inside } = await folders(t);
  const umask = process.umask(0o077);
  try {
    createFile(join(inside, 'file'), { content: 'x', mode: 0o666, user: 1234 });
  } finally {
    process.umask(umask);
  }
  assert.equal(await ownerOf(join(inside, 'file')), '1234 0 666');
});

test('a file is not created through a symlink, and its target keeps content, mode and owner', async (t) => {
  const { inside, outside } = await folders(t);
  for (const target of [join(outside, 'precious'), join(outside, 'missing')]) {
    await symlink(target, join(inside, 'file'));
    assert.throws(() => createFile(join(inside, 'file'), { content: 'new', mode: 0o666, user: 1234 }), { code: 'EEXIST' });
    await rm(join(inside, 'file'));
  }
  assert.deepEqual([await readFile(join(outside, 'precious'), 'utf8'), await ownerOf(join(outside, 'precious'))], ['data', '0 0 600']);
  await assert.rejects(stat(join(outside, 'missing')), { code: 'ENOENT' });
});

test('a folder that is replaced by a symlink while it is used stays the same folder', async (t) => {
  const { inside, outside } = await folders(t);
  await withFolder(inside, async (path) => {
    await rename(inside, `${inside}-moved`);
    await symlink(outside, inside);
    createFile(join(path, 'file'), { content: 'x', mode: 0o600 });
  });
  assert.equal(await readFile(join(`${inside}-moved`, 'file'), 'utf8'), 'x');
  await assert.rejects(stat(join(outside, 'file')), { code: 'ENOENT' });
  await assert.rejects(
    withFolder(inside, () => {}),
    { code: 'ENOTDIR' },
  );
});

test('the mode of a symlink’s target is not changed', async (t) => {
  const { inside, outside } = await folders(t);
  await symlink(outside, join(inside, 'link'));
  await assert.rejects(
    changeFolderMode(join(inside, 'link'), () => 0o777),
    { code: 'ENOTDIR' },
  );
  assert.equal(await ownerOf(outside), '0 0 711');
  await changeFolderMode(inside, () => 0o1750);
  assert.equal(await ownerOf(inside), '0 0 1750');
});
