import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { encodeProfile, type StackNode } from '../../../../../src/workers/server/pprof/encode-profile.ts';

const node = (functionName: string, values: number[], children: StackNode[] = []): StackNode => ({
  frame: { functionName, url: 'file:///a.js', lineNumber: 9 },
  values,
  children,
});

/** Decodes the fields of a message by number, as bytes or numbers. */
function fields(bytes: Uint8Array): Map<number, (Uint8Array | number)[]> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, (Uint8Array | number)[]>();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const value = wireType === 2 ? reader.bytes() : Number(reader.int64());
    found.set(number, [...(found.get(number) ?? []), value]);
  }
  return found;
}

test('a tree of frames is encoded as stack samples, innermost frame first, with each function once', () => {
  const tree = node('(root)', [0], [node('main', [0], [node('leaf', [3]), node('', [5], [node('leaf', [7])])])]);
  const bytes = encodeProfile(tree, {
    sampleTypes: [['cpu', 'nanoseconds']],
    periodType: ['cpu', 'nanoseconds'],
    period: 1000,
    startedAtMs: 1_790_000_000_000,
    durationMs: 2,
  });
  const profile = fields(bytes);
  const strings = profile.get(6)!.map((each) => Buffer.from(each as Uint8Array).toString());
  const names = new Map(
    profile.get(5)!.map((each) => {
      const inner = fields(each as Uint8Array);
      return [inner.get(1)![0] as number, strings[inner.get(2)![0] as number]!];
    }),
  );
  const samples = profile.get(2)!.map((each) => {
    const inner = fields(each as Uint8Array);
    return [[...(inner.get(1)![0] as Uint8Array)].map((id) => names.get(id)).join(' < '), [...(inner.get(2)![0] as Uint8Array)].join()];
  });
  assert.deepEqual(samples.map((sample) => sample.join(': ')).sort(), [
    '(anonymous) < main: 5',
    'leaf < (anonymous) < main: 7',
    'leaf < main: 3',
  ]);
  assert.equal(strings[0], '');
  assert.deepEqual([profile.get(9), profile.get(10), profile.get(12)], [[1_790_000_000_000 * 1e6], [2_000_000], [1000]]);
});
