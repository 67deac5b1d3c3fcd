import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../../../../src/shared/kubernetes/api.ts';
import { LargeWorkError, maxLargeBytes, maxSmallBytes } from '../../../../../../src/workers/pod-sync/pod/large-work.ts';
import { readEnvFiles, type FileKeyRef } from '../../../../../../src/workers/pod-sync/pod/volumes/env-files.ts';
import { aContainer } from '../../../../../support/pods/pods.ts';

const mebibyte = 1024 * 1024;
const aRef = (path: string, key = 'A'): FileKeyRef => ({ volumeName: 'v', path, key });
const aContainerWith = (refs: readonly FileKeyRef[]): Container =>
  aContainer({ env: refs.map((fileKeyRef, index) => ({ name: `E${index}`, valueFrom: { fileKeyRef } })) });

/** Files of one length. */
function someFiles(length: number) {
  const reads: string[] = [];
  const read = ({ path }: FileKeyRef, maxBytes: number) => {
    reads.push(path);
    return Promise.resolve(length > maxBytes ? null : `A='x'\nB='y'\n#`.padEnd(length, '.'));
  };
  return { reads, read };
}

test('a file is read once, and only the keys that the container names are kept', async () => {
  const { reads, read } = someFiles(20);
  const files = await readEnvFiles(aContainerWith([aRef('one'), aRef('one'), aRef('two', 'B')]), { maxBytes: maxSmallBytes, read });
  assert.deepEqual(reads, ['one', 'two']);
  assert.deepEqual(
    [...files].map(([key, { values }]) => [key, [...values]]),
    [
      ['v/one', [['A', 'x']]],
      ['v/two', [['B', 'y']]],
    ],
  );
});

test('files that are large together are read with permission only', async () => {
  const { reads, read } = someFiles(maxSmallBytes / 2);
  const container = aContainerWith([aRef('one'), aRef('two'), aRef('three'), aRef('four')]);
  await assert.rejects(readEnvFiles(container, { maxBytes: maxSmallBytes, read }), LargeWorkError);
  assert.deepEqual(reads, ['one', 'two', 'three']);
  assert.equal((await readEnvFiles(container, { maxBytes: maxLargeBytes, read })).size, 4);
});

test('with permission, no more than the bound of a file and that of an environment are read', async () => {
  const many = aContainerWith(Array.from({ length: 1000 }, (_, index) => aRef(`f${index}`)));
  const { reads, read } = someFiles(mebibyte);
  await assert.rejects(readEnvFiles(many, { maxBytes: maxLargeBytes, read }), {
    reason: 'CreateContainerConfigError',
    message: "couldn't parse env file: the files of the environment have more than 10485760 bytes in total",
  });
  assert.equal(reads.length, 11);
  await assert.rejects(readEnvFiles(aContainerWith([aRef('one')]), { maxBytes: maxLargeBytes, read: someFiles(mebibyte + 1).read }), {
    message: "couldn't parse env file: one has more than 1048576 bytes",
  });
});
