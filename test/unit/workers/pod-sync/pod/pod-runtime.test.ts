import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import type { ContainerID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { createPodRuntime } from '../../../../../src/workers/pod-sync/pod/pod-runtime.ts';

test('the user of an image is read once, and a missing image has none instead of root', async () => {
  const replies: object[] = [{ image: undefined }, { image: { uid: { value: 33n }, username: '' } }];
  const images = { call: () => Promise.resolve(replies.shift()) } as unknown as CriClient['images'];
  const runtime = createPodRuntime({} as CriClient['runtime'], images, 1000);
  await assert.rejects(
    runtime.imageUser('sha256:abc'),
    /^Error: unable to get the user of image "sha256:abc": the runtime does not have it$/,
  );
  assert.deepEqual(await runtime.imageUser('sha256:abc'), { uid: 33n });
  assert.deepEqual(await runtime.imageUser('sha256:abc'), { uid: 33n });
  assert.deepEqual(replies, []);
});

test('the output of a command is cut where it enters', async () => {
  const stream = Buffer.alloc(15_000_000, 1);
  const call = () => Promise.resolve({ exitCode: 1, stdout: stream, stderr: stream });
  const runtime = createPodRuntime({ call } as unknown as CriClient['runtime'], {} as CriClient['images'], 1000);
  const { exitCode, output } = await runtime.execSync('c1' as ContainerID, ['sh'], 1000);
  assert.deepEqual([exitCode, output.length], [1, 10 * 1024]);
});

test('a runtime without updates of sandboxes is asked again after a minute', async () => {
  let nowMs = 0;
  let calls = 0;
  let answer: Error | null = new CriError('UpdatePodSandboxResources', grpcCode.UNIMPLEMENTED, 'unknown method');
  const call = async () => {
    calls += 1;
    if (answer) throw answer;
  };
  const client = { call } as unknown as CriClient['runtime'];
  const runtime = createPodRuntime(client, {} as CriClient['images'], 1000, () => nowMs);
  const update = () => runtime.updatePodSandboxResources('s1' as SandboxID, {} as never);
  assert.deepEqual([await update(), await update(), calls], [false, false, 1]);
  nowMs = 60_000;
  answer = null;
  assert.deepEqual([await update(), await update(), calls], [true, true, 3]);
});
