import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerHash, fnv32a } from '../../../../src/shared/kubernetes/container-hash.ts';

test('the hash equals the Go kubelet’s since v1.31', () => {
  // Upstream's golden value (pkg/kubelet/container/container_hash_test.go).
  assert.equal(containerHash({ name: 'test_container', image: 'foo/image:v1' }), '8e45cbd0');
});

test('FNV-1a gives the published values', () => {
  assert.equal(fnv32a(Buffer.from('')), 0x811c9dc5);
  assert.equal(fnv32a(Buffer.from('foobar')), 0xbf9cf968);
});

test('the hash depends on image and name only', () => {
  const hash = containerHash({ name: 'app', image: 'web:1' });
  assert.notEqual(containerHash({ name: 'app', image: 'web:2' }), hash);
  assert.notEqual(containerHash({ name: 'app2', image: 'web:1' }), hash);
  const more = { name: 'app', image: 'web:1', env: [{ name: 'A', value: 'b' }] };
  assert.equal(containerHash(more), hash);
});

test('a container without an image has a hash', () => {
  assert.match(containerHash({ name: 'app' }), /^[0-9a-f]{1,8}$/);
});
