import assert from 'node:assert/strict';
import { readCounts } from '../../runner/run-job.ts';
import { table } from '../../support/table.ts';

const cases: { name: string; output: string; want: ReturnType<typeof readCounts> }[] = [
  {
    name: 'the last lines of the spec reporter',
    output: '✔ a test (3 ms)\nℹ tests 7\nℹ suites 0\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 1\nℹ duration_ms 5\n',
    want: { passed: 3, failed: 2, skipped: 2 },
  },
  { name: 'a file that ended before it ran a test', output: 'Error: Cannot find module', want: { passed: 0, failed: 0, skipped: 0 } },
  {
    name: 'a test that prints such a line in its own output',
    output: 'output ℹ pass 9\nℹ pass 2\n',
    want: { passed: 2, failed: 0, skipped: 0 },
  },
];

table('the counts of a test file run', (row) => {
  for (const { name, output, want } of cases) row(name, () => assert.deepEqual(readCounts(output), want));
});
