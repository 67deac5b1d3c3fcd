import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregate, validateLogQuery, parseLogQuery } from '../../../../../src/workers/server/system-logs/log-query.ts';
import { table } from '../../../../support/table.ts';

const cases: { query: string; want: string }[] = [
  { query: '', want: 'no query' },
  { query: 'other=1', want: 'no query' },
  { query: 'query=kubelet', want: '' },
  { query: 'query=a&query=b&query=c&query=d', want: '' },
  { query: 'query=a&query=b&query=c&query=d&query=e', want: 'query: Too many: 5: must have at most 4 items' },
  { query: 'query=+', want: 'query: Invalid value: []string{" "}: may not be empty' },
  { query: 'query=a;b', want: 'query: Invalid value: "a;b": input contains unsupported characters' },
  { query: 'query=..', want: 'query: Invalid value: "..": input contains unsupported characters' },
  { query: `query=${'a'.repeat(257)}`, want: `query: Invalid value: "${'a'.repeat(257)}": length must be less than 256` },
  { query: 'query=/a&query=/b', want: 'query: Invalid value: []string{"/a", "/b"}: cannot specify more than one file' },
  { query: 'query=/a&boot=0', want: 'query: Invalid value: []string{"/a"}: cannot specify file with options' },
  { query: 'query=/a&query=b', want: 'query: Invalid value: "[/a], [b]": cannot specify a file and service' },
  { query: 'boot=0', want: 'query: Required value: cannot be empty with options' },
  { query: 'query=a&boot=1', want: 'boot: Invalid value: 1: must be less than 1' },
  { query: 'query=a&boot=x', want: 'boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax' },
  { query: 'query=a&tailLines=-1', want: 'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive' },
  { query: 'query=a&tailLines=100001', want: 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive' },
  { query: 'query=a&sinceTime=yesterday', want: 'sinceTime: Invalid value: "yesterday": invalid time format' },
  {
    query: 'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
    want: 'untilTime: Invalid value: "2026-01-01T00:00:00.000Z": must be after `sinceTime`',
  },
  { query: 'query=a&sinceTime=2026-01-01T00:00:00%2B02:00&untilTime=2026-01-01T00:00:00Z', want: '' },
  { query: 'query=a&pattern=(%3Fi)error|warn', want: '' },
  {
    query: 'query=a&boot=x&tailLines=y',
    want: '[boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax, tailLines: Invalid value: "y": strconv.Atoi: parsing "y": invalid syntax]',
  },
];
table('the validation of a log query', (row) => {
  for (const { query, want } of cases) {
    row(`the log query ${query.slice(0, 60)}: ${want.slice(0, 80) || 'valid'}`, () => {
      const parsed = parseLogQuery(new URLSearchParams(query));
      if (parsed === null) return assert.equal('no query', want);
      const faults = Array.isArray(parsed) ? parsed : validateLogQuery(parsed);
      assert.equal(faults.length === 0 ? '' : aggregate(faults), want);
    });
  }
});

test('a clearly invalid pattern is refused', () => {
  const parsed = parseLogQuery(new URLSearchParams('query=a&pattern=(')) as Parameters<typeof validateLogQuery>[0];
  assert.match(aggregate(validateLogQuery(parsed)), /^pattern: Invalid value: "\(": error parsing regexp: /);
});
