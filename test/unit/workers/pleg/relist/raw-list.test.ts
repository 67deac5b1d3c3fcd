import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { RawList } from '../../../../../src/workers/pleg/relist/raw-list.ts';
import { aLogger } from '../../../../support/logger.ts';

const fails = (call: string, grpcCode: number) => new CriError(call, grpcCode, 'no');

/** A runtime whose unary and streaming calls each reply or fail with a code. The test can change both. */
function aList(replies: { unary: number | 'whole'; stream: number | 'whole'; portions?: number | 'whole' }) {
  const calls: string[] = [];
  const { logger, lines } = aLogger();
  const list = new RawList({
    listCall: 'ListContainers',
    streamCall: 'StreamContainers',
    fetchUnary: async () => {
      calls.push('unary');
      if (replies.unary !== 'whole') throw fails('ListContainers', replies.unary);
      return Uint8Array.of(1);
    },
    fetchStream: async function* () {
      calls.push('stream');
      yield Uint8Array.of(1);
      if (replies.stream !== 'whole') throw fails('StreamContainers', replies.stream);
      yield Uint8Array.of(2);
    },
    fetchPortions: async () => {
      calls.push('portions');
      if (replies.portions !== 'whole') throw fails('ListContainers', replies.portions ?? grpcCode.RESOURCE_EXHAUSTED);
      return [Uint8Array.of(3), Uint8Array.of(4)];
    },
    logger,
  });
  const fetch = async () => (await list.fetch(new AbortController().signal)).map(([byte]) => byte);
  return { fetch, calls, lines, replies };
}

suite('a list of the runtime, as bytes', () => {
  test('is one reply below the limit', async () => {
    const { fetch, calls } = aList({ unary: 'whole', stream: grpcCode.UNIMPLEMENTED });
    assert.deepEqual(await fetch(), [1]);
    assert.deepEqual(calls, ['unary']);
  });

  test('above the limit is streamed, also later', async () => {
    const { fetch, calls, lines } = aList({ unary: grpcCode.RESOURCE_EXHAUSTED, stream: 'whole' });
    assert.deepEqual(
      [await fetch(), await fetch()],
      [
        [1, 2],
        [1, 2],
      ],
    );
    assert.deepEqual(calls, ['unary', 'stream', 'stream']);
    assert.equal(lines.length, 1);
  });

  test('is requested as one reply again when the runtime no longer supports the stream', async () => {
    const { fetch, calls, replies } = aList({ unary: grpcCode.RESOURCE_EXHAUSTED, stream: 'whole' });
    await fetch();
    Object.assign(replies, { unary: 'whole', stream: grpcCode.UNIMPLEMENTED });
    assert.deepEqual(await fetch(), [1]);
    assert.deepEqual(calls, ['unary', 'stream', 'stream', 'unary']);
  });

  test('above the limit comes in portions from a runtime without streams, and is tried in one reply again later', async () => {
    const { fetch, calls, lines, replies } = aList({
      unary: grpcCode.RESOURCE_EXHAUSTED,
      stream: grpcCode.UNIMPLEMENTED,
      portions: 'whole',
    });
    assert.deepEqual(
      [await fetch(), await fetch()],
      [
        [3, 4],
        [3, 4],
      ],
    );
    assert.deepEqual(calls, ['unary', 'stream', 'portions', 'portions']);
    assert.equal(lines.length, 1);
    replies.unary = 'whole';
    for (let list = 0; list < 299; list += 1) await fetch();
    assert.deepEqual(await fetch(), [1]);
    assert.equal(calls.at(-1), 'unary');
  });

  const failures: { name: string; unary: number; stream: number; want: RegExp }[] = [
    {
      name: 'names the limit when the runtime has no stream, and a portion is too long, too',
      unary: grpcCode.RESOURCE_EXHAUSTED,
      stream: grpcCode.UNIMPLEMENTED,
      want: /^KubeletError: ListContainers: the reply is over the limit of 16777216 bytes for a message, and in portions: ListContainers: rpc error: code = ResourceExhausted/,
    },
    {
      name: 'is never a partial stream',
      unary: grpcCode.RESOURCE_EXHAUSTED,
      stream: grpcCode.UNAVAILABLE,
      want: /StreamContainers: rpc error: code = Unavailable/,
    },
    {
      name: 'fails with the runtime’s error otherwise',
      unary: grpcCode.UNAVAILABLE,
      stream: grpcCode.UNIMPLEMENTED,
      want: /^CriError: ListContainers: rpc error: code = Unavailable/,
    },
  ];
  for (const { name, unary, stream, want } of failures) {
    test(name, async () => {
      const { fetch } = aList({ unary, stream });
      await assert.rejects(fetch(), (err) => want.test(String(err)));
    });
  }
});
