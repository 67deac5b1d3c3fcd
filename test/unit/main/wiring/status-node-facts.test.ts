import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusNodeFacts } from '../../../../src/main/wiring/status-node-facts.ts';

test('the node has no addresses until its facts are known, and follows them from then on', () => {
  const facts = new StatusNodeFacts();
  assert.deepEqual(facts.current(), { hostIPs: [], runtimeName: '' });
  const node = { hostIPs: ['10.0.0.1'], runtimeName: 'containerd' };
  facts.follow({ current: () => node });
  assert.deepEqual(facts.current(), { hostIPs: ['10.0.0.1'], runtimeName: 'containerd' });
  node.hostIPs = ['10.0.0.2'];
  assert.deepEqual(facts.current().hostIPs, ['10.0.0.2']);
});
