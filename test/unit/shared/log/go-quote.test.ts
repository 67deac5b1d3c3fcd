import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goQuote } from '../../../../src/shared/log/go-quote.ts';

const cases: { name: string; text: string; want: string }[] = [
  { name: 'plain text is only put in quotes', text: 'a pod', want: '"a pod"' },
  { name: 'quotes and backslashes are escaped', text: 'a "b" \\c', want: String.raw`"a \"b\" \\c"` },
  { name: 'line breaks and tabs have names', text: '\n\r\t\v\f\b\u0007', want: String.raw`"\n\r\t\v\f\b\a"` },
  { name: 'other controls are hexadecimal', text: '\u001b[31m\u007f\u0000', want: String.raw`"\x1b[31m\x7f\x00"` },
  { name: 'printable letters of any script stay', text: 'Grüße, 世界 🚀', want: '"Grüße, 世界 🚀"' },
  { name: 'invisible and odd spaces are shown', text: '\u200b\u00a0\u2028', want: String.raw`"\u200b\u00a0\u2028"` },
  { name: 'an unassigned character beyond 16 bits has eight digits', text: '\u{e0001}', want: String.raw`"\U000e0001"` },
  { name: 'a lone surrogate becomes the replacement character', text: '\ud800', want: '"\ufffd"' },
];
for (const { name, text, want } of cases) {
  test(name, () => assert.equal(goQuote(text), want));
}
