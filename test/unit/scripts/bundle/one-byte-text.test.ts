import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { toOneByteText } from '../../../../scripts/bundle/one-byte-text.ts';

const cases: { name: string; code: string }[] = [
  { name: 'a string', code: `'can’t'` },
  { name: 'a template', code: '`${1}…${2}`' },
  { name: 'a character of two units', code: `'😀'` },
  { name: 'a regular expression', code: `'a😀–b'.replace(/[😀–]/gu, '')` },
  { name: 'a comment', code: `1 /* can’t */` },
  { name: 'a property', code: `({ μ: 1 }).μ` },
  { name: 'a character of Latin-1', code: `'\u00b5'` },
];
for (const { name, code } of cases) {
  test(`bundled code means the same as one-byte text: ${name}`, () => {
    const text = toOneByteText(code, 'a.js');
    assert.doesNotMatch(text, /[\u0100-\uffff]/);
    assert.equal(runInNewContext(text), runInNewContext(code));
  });
}

test('a build fails where an escape would change the text', () => {
  assert.throws(() => toOneByteText('String.raw`…`', 'a.js'), /tagged template/);
  assert.throws(() => toOneByteText(String.raw`'\…'`, 'a.js'), /backslash/);
});
