import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toNodeName } from '../../../../src/main/node/node-name.ts';

test('a node has the name of --hostname-override or of its host, in lower case', () => {
  assert.deepEqual([toNodeName('', 'Host-1'), toNodeName(' Other ', 'host-1')], ['host-1', 'other']);
});

test('a node without a name does not start', () => {
  for (const [override, hostname] of [
    ['  ', 'host-1'],
    ['', ''],
  ] as const)
    assert.throws(() => toNodeName(override, hostname), /^Error: empty hostname is invalid$/);
});
