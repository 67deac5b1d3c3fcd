import assert from 'node:assert/strict';
import { goDuration, goQuote } from '../../../../src/shared/kubernetes/go-text.ts';
import { table } from '../../../support/table.ts';

const cases: { name: string; text: string; want: string }[] = [
  { name: 'plain text is only quoted', text: 'a pod', want: '"a pod"' },
  { name: 'quotes and backslashes are escaped', text: 'a "b" \\c', want: String.raw`"a \"b\" \\c"` },
  { name: 'line breaks and tabs have short escapes', text: '\n\r\t\v\f\b\u0007', want: String.raw`"\n\r\t\v\f\b\a"` },
  { name: 'other controls are hexadecimal', text: '\u001b[31m\u007f\u0000', want: String.raw`"\x1b[31m\x7f\x00"` },
  { name: 'printable letters of any script stay', text: 'Grüße, 世界 🚀', want: '"Grüße, 世界 🚀"' },
  { name: 'invisible and unusual spaces are escaped', text: '\u200b\u00a0\u2028', want: String.raw`"\u200b\u00a0\u2028"` },
  { name: 'an unassigned character beyond 16 bits has eight digits', text: '\u{e0001}', want: String.raw`"\U000e0001"` },
  { name: 'a lone surrogate becomes the replacement character', text: '\ud800', want: '"\ufffd"' },
];
table('text is quoted like in Go', (row) => {
  for (const { name, text, want } of cases) {
    row(name, () => assert.equal(goQuote(text), want));
  }
});

const durations: [ms: number, text: string][] = [
  [0, '0s'],
  [45, '45ms'],
  [500, '500ms'],
  [1203, '1.203s'],
  [10_000, '10s'],
  [80_000, '1m20s'],
  [300_000, '5m0s'],
  [3_600_000, '1h0m0s'],
  [0.0015, '1.5µs'],
  [-1500, '-1.5s'],
];
table('a duration is formatted like in Go', (row) => {
  for (const [ms, text] of durations) {
    row(`a duration of ${ms} ms is formatted as ${text}`, () => assert.equal(goDuration(ms), text));
  }
});
