import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { stressTable } from './stress-table.ts';

async function aWriter(buffer: SharedArrayBuffer): Promise<Worker> {
  const worker = new Worker(new URL('table-writer.ts', import.meta.url), { workerData: buffer });
  const reader = stressTable.reader(buffer);
  while (reader.used === 0) await new Promise((resolve) => setImmediate(resolve));
  return worker;
}

test('a reader never sees half of a write, however fast a row changes', async () => {
  const buffer = stressTable.create(4);
  const worker = await aWriter(buffer);
  const reader = stressTable.reader(buffer);
  let seen = 0;
  let newest = -1;
  // On a busy host the writer may get no core for a while: read until enough versions were seen.
  const deadlineMs = performance.now() + 20_000;
  for (let reads = 0; reads < 100_000 || (seen <= 100 && performance.now() < deadlineMs); reads += 1) {
    const row = reader.read(0);
    if (!row) continue;
    const n = row.first;
    assert.deepEqual(row, { first: n, name: String(n).repeat(4).slice(0, 40), ns: BigInt(n), last: n });
    assert.ok(n >= newest);
    if (n > newest) seen += 1;
    newest = n;
  }
  await worker.terminate();
  assert.ok(seen > 100, `${seen} different rows`);
});

test('a table works for the successor of a writer that was killed at any moment', async () => {
  const buffer = stressTable.create(4);
  for (let i = 0; i < 8; i += 1) {
    const worker = await aWriter(buffer);
    await worker.terminate();
    const successor = stressTable.writer(buffer);
    for (const [row] of successor.rows()) successor.free(row);
    assert.equal(successor.used, 0);
    const rows = Array.from({ length: 4 }, (_, n) => successor.insert({ first: n, name: '', ns: 0n, last: n }));
    assert.deepEqual(
      rows.toSorted((a, b) => a - b),
      [0, 1, 2, 3],
    );
    for (const row of rows) successor.free(row);
  }
});
