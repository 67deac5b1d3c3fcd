import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelMatcher } from '../../../../src/main/objects/label-selector.ts';
import type { LabelSelector } from '../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../support/table.ts';

const labels = { app: 'web', tier: 'front' };
const expression = (key: string, operator: string, values?: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values ? { values } : {}) }],
});

const cases: readonly [name: string, selector: LabelSelector | undefined, want: boolean][] = [
  ['no selector', undefined, false],
  ['an empty selector', {}, true],
  ['a matching label', { matchLabels: { app: 'web' } }, true],
  ['a label with another value', { matchLabels: { app: 'db' } }, false],
  ['a value that is In', expression('tier', 'In', ['back', 'front']), true],
  ['a missing label In', expression('none', 'In', ['x']), false],
  ['a missing label NotIn', expression('none', 'NotIn', ['x']), true],
  ['a value NotIn', expression('tier', 'NotIn', ['front']), false],
  ['Exists', expression('app', 'Exists'), true],
  ['Exists with an inherited property’s name', expression('constructor', 'Exists'), false],
  ['DoesNotExist', expression('app', 'DoesNotExist'), false],
  ['labels and expressions together', { matchLabels: { app: 'web' }, ...expression('tier', 'DoesNotExist') }, false],
];
table('a label selector', (row) => {
  for (const [name, selector, want] of cases) row(`a label selector: ${name}`, () => assert.equal(labelMatcher(selector)(labels), want));
});

test('an invalid label selector is rejected', () => {
  assert.throws(() => labelMatcher(expression('app', 'Like', ['w*'])), /"Like" is not a valid label selector operator/);
  assert.throws(() => labelMatcher(expression('app', 'In')), /values set can't be empty/);
});
