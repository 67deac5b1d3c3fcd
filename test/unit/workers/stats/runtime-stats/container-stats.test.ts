import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { ContainerStats } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { RuntimeContainerStats, type ContainerStatsOptions } from '../../../../../src/workers/stats/runtime-stats/container-stats.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const stats = (id: string, workingSetBytes: bigint | null) =>
  ContainerStats.fromPartial({
    attributes: { id },
    cpu: { timestamp: 9_000_000_000n, usageCoreNanoSeconds: { value: 7n } },
    ...(workingSetBytes === null ? {} : { memory: { workingSetBytes: { value: workingSetBytes } } }),
  });

function aReader(reply: () => readonly ContainerStats[]) {
  const clock = new FakeClock(5000);
  const { logger, lines } = aLogger();
  const counts = { connections: 0, calls: 0 };
  const runtime = {
    call: async () => {
      counts.calls += 1;
      return { stats: reply() };
    },
  } as unknown as Awaited<ReturnType<ContainerStatsOptions['connect']>>;
  const connect = async () => {
    counts.connections += 1;
    return runtime;
  };
  const reader = new RuntimeContainerStats({ connect, clock, logger });
  const ask = async (ids: readonly string[]) => {
    const found = reader.of(ids);
    await clock.advance(1000);
    return found;
  };
  return { ask, clock, lines, counts };
}

test('the containers in question have what the runtime has measured, for three samples', async () => {
  let replies = [stats('a', 5n), stats('b', 6n), stats('c', null)];
  const { ask, clock, counts } = aReader(() => replies);
  assert.equal((await ask(['a', 'c'])).size, 0);
  const found = await ask(['a', 'c']);
  assert.deepEqual([...found.keys()], ['a']);
  assert.deepEqual([found.get('a')?.memoryWorkingSetBytes, found.get('a')?.cpuUsageNs, found.get('a')?.sampledAtMs], [5, 7n, 9000]);
  assert.deepEqual(counts, { connections: 1, calls: 2 });
  replies = [];
  await clock.advance(40_000);
  assert.equal((await ask(['a'])).size, 0);
});

test('without such containers there is no connection', async () => {
  const { ask, counts } = aReader(() => []);
  await ask([]);
  assert.deepEqual(counts, { connections: 0, calls: 0 });
});

test('a runtime without the call is asked again after ten minutes, and each error is logged once', async () => {
  const { ask, clock, counts, lines } = aReader(() => {
    throw new CriError('ListContainerStats', grpcCode.UNIMPLEMENTED, 'unknown method');
  });
  for (let sample = 0; sample < 3; sample += 1) await ask(['a']);
  assert.deepEqual([counts.calls, lines.length], [1, 1]);
  await clock.advance(600_000);
  await ask(['a']);
  assert.deepEqual([counts.calls, lines.length], [2, 1]);
});
