import assert from 'node:assert/strict';
import { formatTraceParent, parseTraceParent } from '../../../../src/shared/tracing/trace-parent.ts';
import { table } from '../../../support/table.ts';

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const rows: { name: string; text: string; want: { traceId: string; spanId: string; traceFlags: number } | null }[] = [
  { name: 'sampled', text: `00-${traceId}-${spanId}-01`, want: { traceId, spanId, traceFlags: 1 } },
  { name: 'not sampled', text: `00-${traceId}-${spanId}-00`, want: { traceId, spanId, traceFlags: 0 } },
  { name: 'empty', text: '', want: null },
  { name: 'another version', text: `01-${traceId}-${spanId}-01`, want: null },
  { name: 'no trace', text: `00-${'0'.repeat(32)}-${spanId}-01`, want: null },
  { name: 'no span', text: `00-${traceId}-${'0'.repeat(16)}-01`, want: null },
  { name: 'upper case', text: `00-${traceId.toUpperCase()}-${spanId}-01`, want: null },
  { name: 'something behind it', text: `00-${traceId}-${spanId}-01-x`, want: null },
];

table('the header traceparent', (row) => {
  for (const { name, text, want } of rows) {
    row(name, () => {
      const parsed = parseTraceParent(text);
      assert.deepEqual(parsed, want && { ...want, isRemote: true });
      if (parsed) assert.equal(formatTraceParent(parsed), text);
    });
  }
});
