/** Traces are off by default, and cost no load time then: no program and no thread loads the SDK before the setting is read. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ensureBuilt } from '../../support/kubelet/kubelet-command.ts';

const dist = join(import.meta.dirname, '../../../dist');

const imports = /^(?:import|export)\b[^;]*?["'](\.{1,2}\/[^"']+)["']|\bimport\(\s*["'](\.{1,2}\/[^"']+)["']\s*\)/gm;

/** The file, and everything that it may import, except for the tracer, which the setting loads. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, fixed, dynamic] of readFileSync(file, 'utf8').matchAll(imports)) {
    const path = fixed ?? dynamic!;
    if (dynamic === undefined || !path.includes('/sdk-tracer')) loadedWith(join(dirname(file), path), seen);
  }
  return seen;
}

const hasSdk = (file: string) => /BatchSpanProcessorBase = class/.test(readFileSync(file, 'utf8'));

test('the SDK of traces is in a chunk of its own, which no entry imports', () => {
  ensureBuilt();
  const files = globSync('src/**/*.js', { cwd: dist }).map((file) => join(dist, file));
  assert.equal(files.filter(hasSdk).length, 1);
  const entries = [join(dist, 'src/main/cli.js'), ...globSync('src/workers/*/index.js', { cwd: dist }).map((file) => join(dist, file))];
  assert.ok(entries.length >= 8);
  for (const entry of entries) {
    const loaded = loadedWith(entry);
    assert.ok(loaded.size > 1, `${entry} imports nothing`);
    assert.deepEqual([...loaded].filter(hasSdk), [], entry);
  }
});
