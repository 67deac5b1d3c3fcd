import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AdmissionJournal } from '../../../src/main/pods/admission/index.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger, silentLogger } from '../../support/logger.ts';

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

test('pods that are admitted while the disk is slow wait for nothing, and are written together', async (t) => {
  const { rootDir } = aFolder(t);
  const logger = silentLogger;
  const clock = new FakeClock();
  const written: string[] = [];
  let isWritten = Promise.withResolvers<void>();
  const write = async (_path: string, _temporary: string, content: string) => {
    written.push(content);
    await isWritten.promise;
  };
  const journal = await AdmissionJournal.open({ rootDir, clock, logger, write });
  for (const name of ['a', 'b', 'c', 'd']) {
    journal.add(uid(name));
    await clock.advance(20);
  }
  assert.deepEqual(written, ['{"admitted":["a"]}']);
  isWritten.resolve();
  isWritten = Promise.withResolvers();
  await settle();
  assert.deepEqual(written.slice(1), ['{"admitted":["a","b","c","d"]}']);
  journal.add(uid('e'));
  const closed = journal.close();
  isWritten.resolve();
  await closed;
  assert.deepEqual(written.slice(2), ['{"admitted":["a","b","c","d","e"]}']);
});

test('a write that a loss of power cut off takes nothing from what was written before', async (t) => {
  const { rootDir, open, lines } = aFolder(t);
  const first = await open();
  first.add(uid('a'));
  await first.close();
  const file = join(rootDir, 'admitted_pods_state');
  writeFileSync(`${file}.new`, '{"admitted":["a","b');
  const second = await open();
  assert.deepEqual([second.has(uid('a')), second.has(uid('b')), lines], [true, false, []]);
  second.add(uid('c'));
  await second.close();
  assert.deepEqual([readFileSync(file, 'utf8'), existsSync(`${file}.new`)], ['{"admitted":["a","c"]}', false]);
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
