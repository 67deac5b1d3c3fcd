import assert from 'node:assert/strict';
import { maxReaders, refuseReader } from '../../../../../src/workers/server/logs/reader-limits.ts';
import { table } from '../../../../support/table.ts';

table('a namespace may read one more log', (row) => {
  for (const [total, ofNamespace, isAllowed] of [
    [0, 0, true],
    [499, 499, true],
    [500, 500, false],
    [500, 100, false],
    [500, 99, true],
    [999, 99, true],
    [999, 0, true],
    [maxReaders, 0, false],
  ] as const) {
    row(`${total} readers, ${ofNamespace} of the namespace`, () =>
      assert.equal(refuseReader({ total, ofNamespace }, 'default') === null, isAllowed),
    );
  }
});
