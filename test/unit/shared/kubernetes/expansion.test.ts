import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand, resolverFrom } from '../../../../src/shared/kubernetes/expansion.ts';
import { table } from '../../../support/table.ts';

const resolve = resolverFrom(
  new Map([
    ['VAR_A', 'A'],
    ['VAR_B', 'B'],
    ['VAR_REF', '$(VAR_A)'],
    ['EMPTY', ''],
  ]),
  new Map([
    ['VAR_A', 'shadowed'],
    ['SERVICE', 's'],
  ]),
);

const cases: readonly [name: string, input: string, want: string][] = [
  ['a variable', '$(VAR_A)', 'A'],
  ['a variable with text around it', 'foo-$(VAR_A)-bar', 'foo-A-bar'],
  ['two adjacent variables', '$(VAR_A)$(VAR_B)', 'AB'],
  ['the first map with the name wins', '$(VAR_A) $(SERVICE)', 'A s'],
  ['an unknown variable stays unchanged', '$(VAR_X)-$(VAR_A)', '$(VAR_X)-A'],
  ['a value is not expanded again', '$(VAR_REF)', '$(VAR_A)'],
  ['an empty value', 'x$(EMPTY)y', 'xy'],
  ['a doubled dollar is one dollar', '$$(VAR_A)', '$(VAR_A)'],
  ['three dollars are one dollar and a reference', '$$$(VAR_A)', '$A'],
  ['four dollars are two', '$$$$(VAR_A)', '$$(VAR_A)'],
  ['an unclosed reference', 'foo$(VAR_A', 'foo$(VAR_A'],
  ['a reference after an unclosed one', '$(VAR_$(VAR_A)', '$(VAR_$(VAR_A)'],
  ['nested dollars are part of the name', '$($(VAR_A)$(VAR_B))', '$($(VAR_A)B)'],
  ['a dollar before other characters', '$VAR_A ${VAR_A} $1', '$VAR_A ${VAR_A} $1'],
  ['a dollar at the end', 'foo$', 'foo$'],
  ['an empty name', '$()', '$()'],
  ['no dollar', '\n', '\n'],
  ['characters outside of ASCII', '$ä$(VAR_A)€', '$äA€'],
];
table('expansion', (row) => {
  for (const [name, input, want] of cases) row(`expansion: ${name}`, () => assert.equal(expand(input, resolve), want));
});

test('an expansion above the limit is rejected, also for nested references', () => {
  const texts = new Map([['A0', 'x'.repeat(100)]]);
  const double = () => {
    for (let next = 1; next <= 60; next += 1) texts.set(`A${next}`, expand(`$(A${next - 1})$(A${next - 1})`, resolverFrom(texts)));
  };
  assert.throws(double, /^Error: \$\(A15\): more than 6291456 bytes, with which no process starts$/);
});

test('a text of dollars expands in linear time', () => {
  const text = '$('.repeat(150_000);
  assert.equal(expand(text, resolve), text);
});
