import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { ContainerRemover } from '../../../../../src/workers/images/container-gc/container-remover.ts';

const id = 'c1' as ContainerID;

/** A runtime with a configurable `removeContainer` and without container statuses. */
function aRemover(removeContainer: () => Promise<object>) {
  const calls: string[] = [];
  const call = async (name: string) => {
    calls.push(name);
    return name === 'removeContainer' ? removeContainer() : {};
  };
  const runtime = { call } as unknown as CriClient['runtime'];
  const remover = new ContainerRemover({ runtime, deadlineMs: 1000, podLogsDir: '/nonexistent', containerLogsDir: '/nonexistent' });
  return { remover, removals: () => calls.filter((name) => name === 'removeContainer').length };
}

test('a second removal of a container joins the running one', async () => {
  const answer = Promise.withResolvers<object>();
  const { remover, removals } = aRemover(() => answer.promise);
  const both = [remover.removeContainer(id), remover.removeContainer(id)];
  answer.resolve({});
  assert.deepEqual(await Promise.all(both), [true, true]);
  assert.equal(removals(), 1);
});

test('a failed removal is retried by the next request', async () => {
  const replies = [Promise.reject(new Error('busy')), Promise.resolve({})];
  const { remover, removals } = aRemover(() => replies[removals() - 1]!);
  await assert.rejects(remover.removeContainer(id), /busy/);
  assert.equal(await remover.removeContainer(id), true);
  assert.equal(removals(), 2);
});
