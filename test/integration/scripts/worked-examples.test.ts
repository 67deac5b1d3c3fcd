/** Applies the worked examples of docs/adding-a-part.md to a copy of the tree, which then compiles, and whose tests find each part in its table. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { applyChange, readDiff } from '../../../scripts/check-examples.ts';

const root = join(import.meta.dirname, '../../..');
const copy = mkdtempSync(join(tmpdir(), 'worked-examples-'));
const examples = globSync('docs/examples/*.diff', { cwd: root });
const changes = examples.flatMap((path) => readDiff(readFileSync(join(root, path), 'utf8')));

before(() => {
  for (const path of ['src', 'test/support', 'test/unit', 'package.json', 'tsconfig.json'])
    cpSync(join(root, path), join(copy, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const change of changes) {
    const path = join(copy, change.path);
    const after = applyChange(change, existsSync(path) ? readFileSync(path, 'utf8') : undefined);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, after);
  }
});
after(() => rmSync(copy, { recursive: true }));

test('the changed tree compiles', () => {
  // What the examples reach: the rest of the tree does not know them.
  const files = changes.map(({ path }) => path);
  writeFileSync(join(copy, 'tsconfig.examples.json'), JSON.stringify({ extends: './tsconfig.json', include: ['src'], files }));
  const { status, stdout } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.examples.json'], { cwd: copy, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

test('the tests of the examples pass', () => {
  const files = changes.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
  // Without it, the files would run as subtests of this one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  assert.ok(files.length >= examples.length && files.length > 0);
  const { status, stdout } = spawnSync(process.execPath, ['--test', ...files], { cwd: copy, env, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
