import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileInfo } from '../../../../src/main/sources/file-access.ts';
import { readManifestFile, type ManifestFile } from '../../../../src/main/sources/manifest-file.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aManifest, decodeInMain } from '../../../support/pods/manifest-samples.ts';

const valid = JSON.stringify(aManifest());
const other = JSON.stringify(aManifest({ container: { image: 'other' } }));
const longAgo = Date.UTC(2020, 0, 1);

/** A file that the test changes, and a pool that counts its tasks. */
function aFile(content: string | Error = valid) {
  const clock = new FakeClock();
  const state = {
    content,
    signature: '1',
    changedAtMs: longAgo,
    info: {} as Partial<FileInfo> | null,
    reads: 0,
    decodes: 0,
    poolFails: false,
    isFull: false,
  };
  const read = (before: ManifestFile | null) =>
    readManifestFile('/manifests/web.yaml', before, {
      files: {
        info: async () =>
          state.info && { kind: 'file', changedAtMs: state.changedAtMs, identity: '1', signature: state.signature, ...state.info },
        isFull: async () => state.isFull,
        read: async () => {
          state.reads += 1;
          if (state.content instanceof Error) throw state.content;
          return new TextEncoder().encode(state.content);
        },
      },
      decode: async (request) => {
        state.decodes += 1;
        if (state.poolFails) throw new Error('the thread ended');
        return decodeInMain(request);
      },
      nodeName: 'node-1',
      clock,
      signal: new AbortController().signal,
    });
  return { state, read, clock };
}
const image = (manifest: ManifestFile | null) => manifest?.pod?.spec.containers[0]?.image;

test('an unchanged file is not read again', async () => {
  const { state, read } = aFile();
  const first = await read(null);
  assert.equal(await read(first), first);
  assert.equal(state.reads, 1);
});

test('a touched file is not decoded again', async () => {
  const { state, read } = aFile();
  const first = await read(null);
  state.signature = '2';
  const second = await read(first);
  assert.equal(second?.pod, first?.pod);
  assert.deepEqual([state.reads, state.decodes], [2, 1]);
});

test('a recently written file is read again, because a second write may have the same signature', async () => {
  const { state, read } = aFile();
  state.changedAtMs = Date.UTC(2026, 0, 1);
  const first = await read(null);
  state.content = other;
  assert.equal(image(await read(first)), 'other');
});

test('a file that becomes invalid keeps its last valid pod and gets an error', async () => {
  const { state, read } = aFile();
  const first = await read(null);
  Object.assign(state, { signature: '2', content: 'not a pod' });
  const second = await read(first);
  assert.equal(second?.pod, first?.pod);
  assert.match(second?.error ?? '', /couldn't parse as pod/);
  Object.assign(state, { signature: '3', content: other });
  assert.deepEqual([image(await read(second)), (await read(second))?.error], ['other', null]);
});

test('a file that cannot be read keeps its pod and is read again', async () => {
  const { state, read } = aFile();
  const first = await read(null);
  Object.assign(state, { signature: '2', content: new Error('EIO: i/o error') });
  const second = await read(first);
  assert.deepEqual([second?.pod, second?.error], [first?.pod, 'EIO: i/o error']);
  state.content = other;
  assert.equal(image(await read(second)), 'other');
});

test('a file is decoded again after the pool failed', async () => {
  const { state, read } = aFile();
  state.poolFails = true;
  const first = await read(null);
  assert.equal(first?.error, 'the thread ended');
  state.poolFails = false;
  assert.equal((await read(first))?.error, null);
});

test('a missing file, or a folder in its place, has no pod', async () => {
  const { state, read } = aFile();
  const first = await read(null);
  state.info = { kind: 'folder' };
  assert.equal((await read(first))?.pod, null);
  state.info = null;
  assert.equal(await read(first), null);
});

test('an empty file stops its pod when it is still empty 20 s later, and not on a full disk', async () => {
  for (const content of ['', '\n', '# off\n---\n  # for now\r\n']) {
    const { state, read, clock } = aFile();
    const first = await read(null);
    state.content = content;
    state.signature = '2';
    const empty = await read(first);
    assert.deepEqual([empty?.pod, empty?.error], [first?.pod, 'holds no pod']);
    await clock.advance(19_999);
    // Another write without content.
    state.signature = '3';
    state.content = `${content}# later`;
    const stillEmpty = await read(empty);
    assert.equal(stillEmpty?.pod, first?.pod);
    await clock.advance(1);
    state.isFull = true;
    const onFullDisk = await read(stillEmpty);
    assert.equal(onFullDisk?.pod, first?.pod);
    state.isFull = false;
    const stopped = await read(onFullDisk);
    assert.equal(stopped?.pod, null);
    assert.equal(await read(stopped), stopped);
    state.signature = '4';
    state.content = other;
    assert.equal(image(await read(stopped)), 'other');
  }
});

test('a broken file keeps its pod for ever, also when it was empty before', async () => {
  const { state, read, clock } = aFile();
  const first = await read(null);
  state.signature = '2';
  state.content = '';
  const empty = await read(first);
  state.signature = '3';
  state.content = '# a comment\nkind: [';
  const broken = await read(empty);
  await clock.advance(100_000);
  assert.equal((await read(broken))?.pod, first?.pod);
});
