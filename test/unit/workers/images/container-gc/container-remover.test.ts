import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { ContainerState, ContainerStatus } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { table } from '../../../../support/table.ts';
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

table('a container in an unknown state is stopped before its removal, with its grace period', (row) => {
  const check = (annotations: Record<string, string>, seconds: bigint) =>
    row(JSON.stringify(annotations), async () => {
      const calls: unknown[] = [];
      const status = ContainerStatus.fromPartial({ id, state: ContainerState.CONTAINER_UNKNOWN, annotations });
      const call = async (name: string, request: { timeout?: bigint }) => {
        calls.push(name === 'stopContainer' ? [name, request.timeout] : name);
        return name === 'containerStatus' ? { status } : {};
      };
      const runtime = { call } as unknown as CriClient['runtime'];
      const remover = new ContainerRemover({ runtime, deadlineMs: 1000, podLogsDir: '/nonexistent', containerLogsDir: '/nonexistent' });
      assert.equal(await remover.removeContainer(id), true);
      assert.deepEqual(calls, ['containerStatus', ['stopContainer', seconds], 'removeContainer']);
    });
  const [termination, deletion] = ['io.kubernetes.pod.terminationGracePeriod', 'io.kubernetes.pod.deletionGracePeriod'];
  check({}, 2n);
  check({ [termination]: '10' }, 10n);
  check({ [termination]: '10', [deletion]: '5' }, 5n);
  check({ [deletion]: '0' }, 2n);
  check({ [termination]: '9999999999' }, 30n);
  for (const hostile of ['-5', '1e9', 'NaN', '9'.repeat(100)]) check({ [termination]: hostile }, 2n);
});
