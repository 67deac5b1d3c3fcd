import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { RuntimeLayers, type LayerUsage } from '../../../../../src/workers/stats/storage/runtime-layers.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const container = (id: string) =>
  ({ kind: 'container', podUID: 'p' as PodUID, name: id, plugin: '', containerID: id as ContainerID }) as const;

function aRuntime(list: () => Promise<ReadonlyMap<string, LayerUsage>>) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const measured: string[] = [];
  let calls = 0;
  const layers = new RuntimeLayers({
    list: () => {
      calls += 1;
      return list();
    },
    onMeasured: ({ containerID }, { usedBytes }) => measured.push(`${containerID} ${usedBytes}`),
    clock,
    logger,
  });
  return { clock, layers, measured, lines, calls: () => calls };
}

suite('the writable layers from the runtime', () => {
  test('are requested once a minute, in one call for all', async () => {
    const usage = { usedBytes: 5, inodesUsed: 1 };
    const { clock, layers, measured, calls } = aRuntime(
      async () =>
        new Map([
          ['a', usage],
          ['b', usage],
          ['x', usage],
        ]),
    );
    const missing = ['a', 'b', 'c'].map(container);
    await layers.measureDue(missing);
    await layers.measureDue(missing);
    assert.deepEqual([measured, calls()], [['a 5', 'b 5'], 1]);
    await clock.advance(60_000);
    await layers.measureDue(missing);
    assert.equal(calls(), 2);
  });

  test('are not requested while the mount table has all', async () => {
    const { layers, calls } = aRuntime(async () => new Map());
    await layers.measureDue([]);
    assert.equal(calls(), 0);
  });

  test('are requested again after a failure, of which one line is logged', async () => {
    const { clock, layers, lines, calls } = aRuntime(() => Promise.reject(new Error('14 UNAVAILABLE')));
    for (let minute = 0; minute < 3; minute += 1) {
      await layers.measureDue([container('a')]);
      await clock.advance(60_000);
    }
    assert.deepEqual([calls(), lines.length], [3, 1]);
  });
});
