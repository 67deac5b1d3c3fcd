/** Updates a row in an endless loop, and frees and reinserts it at times. Each write has the same number in every field. */
import { workerData } from 'node:worker_threads';
import { stressTable } from './stress-table.ts';

const writer = stressTable.writer(workerData as SharedArrayBuffer);
const values = (n: number) => ({ first: n, name: String(n).repeat(4).slice(0, 40), ns: BigInt(n), last: n });
let row = writer.insert(values(0));
for (let n = 1; ; n += 1) {
  writer.update(row, values(n));
  if (n % 50 === 0) {
    writer.free(row);
    row = writer.insert(values(n));
  }
}
