import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AdmissionJournal } from '../../../../../src/main/pods/admission/index.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

function aFolder(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), 'journal-'));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const { logger, lines } = aLogger();
  const open = () => AdmissionJournal.open({ rootDir, clock: new FakeClock(), logger });
  return { rootDir, open, lines };
}
const uid = (name: string) => name as PodUID;

test('a pod that was admitted is known after a restart, one that was forgotten is not', async (t) => {
  const { rootDir, open } = aFolder(t);
  const first = await open();
  for (const name of ['a', 'b']) first.add(uid(name));
  await first.close();
  const second = await open();
  assert.deepEqual([second.has(uid('a')), second.has(uid('b')), second.has(uid('c'))], [true, true, false]);
  second.keep(new Set([uid('b')]));
  await second.close();
  assert.deepEqual(JSON.parse(readFileSync(join(rootDir, 'admitted_pods_state'), 'utf8')), { admitted: ['b'] });
});

test('pods that the Go kubelet had admitted count', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const data = JSON.stringify({ entries: { 'uid-1': { ContainerResources: { app: {} } } } });
  writeFileSync(join(rootDir, 'allocated_pods_state'), JSON.stringify({ data, checksum: 1 }));
  assert.equal((await open()).has(uid('uid-1')), true);
  assert.deepEqual(lines, []);
});

for (const [what, content] of [
  ['that is cut off', '{"admitted": ["a"'],
  ['of another shape', '{"admitted": {"a": 1}}'],
  ['of no object', 'null'],
] as const) {
  test(`a file ${what} is said by name, and counts as none`, async (t) => {
    const { rootDir, open, lines } = aFolder(t);
    writeFileSync(join(rootDir, 'admitted_pods_state'), content);
    const journal = await open();
    assert.equal(journal.has(uid('a')), false);
    assert.equal(lines[0]?.['path'], join(rootDir, 'admitted_pods_state'));
    journal.add(uid('b'));
    await journal.close();
    assert.equal((await open()).has(uid('b')), true);
  });
}
