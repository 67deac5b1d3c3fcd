import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutMessage, maxMessageLength } from '../../../../src/shared/errors/cut-message.ts';
import { KubeletError, messageOf, toFailure } from '../../../../src/shared/errors/kubelet-error.ts';

const long = '\u0001'.repeat(15_000_000);

test('a long message is cut once, at whole characters, and states its length', () => {
  assert.equal(cutMessage('short'), 'short');
  assert.equal(cutMessage('x'.repeat(50), 40), `${'x'.repeat(23)}… (50 characters)`);
  assert.equal(cutMessage('😀'.repeat(50), 40).isWellFormed(), true);
  const cut = cutMessage(long);
  assert.equal(cut.length, maxMessageLength);
  assert.equal(cutMessage(cut), cut);
});

test('no error carries a message of foreign length to another thread', () => {
  const errors = [
    new KubeletError('Failed', long),
    new Error(long),
    new Error('outer', { cause: new Error(long) }),
    new KubeletError('Failed', `a${long}`, { cause: new Error(`b${long}`) }),
    long,
  ];
  for (const err of errors) {
    assert.ok(messageOf(err).length <= maxMessageLength);
    assert.ok(toFailure(err, 'Failed').message.length <= maxMessageLength);
  }
});
