import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { makeFolderDurably, writeDurably } from '../../../src/shared/linux/write-durably.ts';

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a file is replaced as a whole, over the temporary file of an interrupted write', async (t) => {
  const folder = aFolder(t);
  const path = join(folder, 'state');
  writeFileSync(`${path}.new`, 'far more than what will be written');
  for (const content of ['one', 'two']) {
    await writeDurably(path, `${path}.new`, content);
    assert.equal(readFileSync(path, 'utf8'), content);
  }
  assert.deepEqual(readdirSync(folder), ['state']);
});

test('a failed replacement leaves no temporary file', async (t) => {
  const folder = aFolder(t);
  const path = join(folder, 'state');
  mkdirSync(join(path, 'full'), { recursive: true });
  await assert.rejects(writeDurably(path, `${path}.new`, 'one'), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(folder), ['state']);
  await assert.rejects(writeDurably(join(folder, 'no', 'state'), join(folder, 'no', 'new'), 'one'), { code: 'ENOENT' });
});

test('a folder is created with its missing parents, and an existing one is unchanged', async (t) => {
  const folder = join(aFolder(t), 'a', 'b');
  await makeFolderDurably(folder);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  writeFileSync(join(folder, 'file'), '');
  await makeFolderDurably(folder);
  assert.deepEqual(readdirSync(folder), ['file']);
});
