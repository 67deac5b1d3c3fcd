import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import { listImages } from '../../../../../src/workers/images/pulls/list-images.ts';

const runtime = (answer: () => unknown) => ({ call: async () => answer() }) as unknown as CriClient['images'];

test('images are listed with names and sizes, including sizes above 4 GiB', async () => {
  const image = {
    id: 'sha256:1',
    repoTags: ['r/a:1'],
    repoDigests: ['r/a@sha256:1'],
    size: 2n ** 40n,
    uid: undefined,
    username: '',
    spec: undefined,
    pinned: true,
  };
  assert.deepEqual(
    await listImages(
      runtime(() => ({ images: [image] })),
      1000,
    ),
    [{ id: 'sha256:1', repoTags: ['r/a:1'], repoDigests: ['r/a@sha256:1'], sizeBytes: 2 ** 40 }],
  );
});

test('a failure of the runtime to list images rejects', async () => {
  const away = () => {
    throw new Error('no runtime');
  };
  await assert.rejects(listImages(runtime(away), 1000), /no runtime/);
});
