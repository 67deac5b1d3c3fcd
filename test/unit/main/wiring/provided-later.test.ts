import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providedLater } from '../../../../src/main/wiring/provided-later.ts';

test('a function answers as before until it is provided, once', () => {
  const [ask, provide] = providedLater((name: string) => `${name} is unknown`);
  assert.equal(ask('web'), 'web is unknown');
  provide((name) => `${name} runs`);
  assert.equal(ask('web'), 'web runs');
  assert.throws(() => provide((name) => name), /provided already/);
});
