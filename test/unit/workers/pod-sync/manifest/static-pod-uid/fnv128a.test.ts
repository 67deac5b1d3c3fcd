import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fnv128a } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/fnv128a.ts';

function hashOf(...pieces: readonly Uint8Array[]): string {
  const hash = new Fnv128a();
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

const known: readonly [text: string, hash: string][] = [
  ['', '6c62272e07bb014262b821756295c58d'],
  ['a', 'd228cb696f1a8caf78912b704e4a8964'],
  ['foobar', '343e1662793c64bf6f0d3597ba446f18'],
];
for (const [text, hash] of known) {
  test(`the hash of ${JSON.stringify(text)} is the published one`, () => assert.equal(hashOf(Buffer.from(text)), hash));
}

test('many bytes hash like a reference with 128-bit integers', () => {
  const bytes = Uint8Array.from({ length: 5000 }, (_, index) => (index * index * 31 + 7) & 0xff);
  const prime = (1n << 88n) + 315n;
  let sum = 0x6c62272e07bb014262b821756295c58dn;
  for (const byte of bytes) sum = BigInt.asUintN(128, (sum ^ BigInt(byte)) * prime);
  assert.equal(hashOf(bytes), sum.toString(16).padStart(32, '0'));
});

test('the hash does not depend on the split into pieces', () => {
  assert.equal(hashOf(Buffer.from('foo'), Buffer.from(''), Buffer.from('bar')), hashOf(Buffer.from('foobar')));
});
