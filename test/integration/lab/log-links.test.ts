import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { removeLogLinks } from '../../../lab/host/log-links.ts';

test('links into a log folder are removed, also while another kubelet creates and removes links', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'log-links-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), '');
  const other = new Worker(
    `const { symlinkSync, unlinkSync } = require('node:fs');
    for (;;) {
      for (let i = 0; i < 20; i += 1) symlinkSync('/other/logs/x', process.env.FOLDER + '/other-' + i);
      for (let i = 0; i < 20; i += 1) unlinkSync(process.env.FOLDER + '/other-' + i);
    }`,
    { eval: true, env: { FOLDER: folder } },
  );
  try {
    for (let round = 0; round < 300; round += 1) {
      symlinkSync('/own/logs/x', join(folder, 'own'));
      removeLogLinks('/own/logs', folder);
      assert.ok(!readdirSync(folder).includes('own'));
    }
  } finally {
    await other.terminate();
  }
  assert.ok(readdirSync(folder).includes('file'));
});
