import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { ListPodSandboxResponse } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { listContainersBySandbox, listSandboxesByState } from '../../../../../src/workers/pleg/relist/list-portions.ts';

const sandboxes = [
  ListPodSandboxResponse.encode(ListPodSandboxResponse.fromPartial({ items: [{ id: 'a' }, { id: 'b' }, { id: 'a' }] })).finish(),
];
const tooLong = () => new CriError('ListContainers', grpcCode.RESOURCE_EXHAUSTED, 'too long');

test('containers are listed by sandbox, each once', async () => {
  const asked: unknown[] = [];
  const fetch = async (filter: object) => (asked.push(filter), Uint8Array.of(asked.length));
  assert.equal((await listContainersBySandbox(sandboxes, fetch, () => [])).length, 2);
  assert.deepEqual(asked, [{ podSandboxId: 'a' }, { podSandboxId: 'b' }]);
});

test('of a sandbox whose containers exceed the limit, the known ones are listed', async () => {
  const fetch = async ({ podSandboxId = '', id = '' }: { podSandboxId?: string; id?: string }) => {
    if (podSandboxId === 'a') throw tooLong();
    return Buffer.from(`${podSandboxId}${id}`);
  };
  const messages = await listContainersBySandbox(sandboxes, fetch, (id) => [`${id}-1`, `${id}-2`]);
  assert.deepEqual(messages.map(String).sort(), ['a-1', 'a-2', 'b']);
  const broken = async () => Promise.reject(new CriError('ListContainers', grpcCode.UNAVAILABLE, 'gone'));
  await assert.rejects(
    listContainersBySandbox(sandboxes, broken, () => []),
    /gone/,
  );
});

test('sandboxes are listed in the order of their life', async () => {
  const messages = await listSandboxesByState(async ({ state }) => Uint8Array.of(state!.state));
  assert.deepEqual(
    messages.map(([state]) => state),
    [0, 1],
  );
});
