import assert from 'node:assert/strict';
import { setImmediate as settle } from 'node:timers/promises';
import { test } from 'node:test';
import type { VolumeStatsReply } from '../../../../../src/shared/contracts/volumes.ts';
import { DriverMeasurer } from '../../../../../src/workers/stats/storage/driver-measurer.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { silentLogger } from '../../../../support/logger.ts';

const usage = { capacityBytes: 9, availableBytes: 8, usedBytes: 1, inodes: 0, inodesFree: 0, inodesUsed: 0 };
const measured: VolumeStatsReply = { outcome: 'measured', usage };
const [a, b] = [{ path: '/a' }, { path: '/b' }];
const periodMs = 1000;

/** A measurer whose drivers answer when the test says so. */
function aMeasurer() {
  const clock = new FakeClock();
  const asked: { path: string; answer: (reply: VolumeStatsReply | Error) => Promise<void> }[] = [];
  const results: string[] = [];
  const measurer = new DriverMeasurer<{ readonly path: string }>({
    periodMs,
    askDriver: ({ path }) =>
      new Promise((resolve, reject) => {
        const answer = async (reply: VolumeStatsReply | Error) => {
          if (reply instanceof Error) reject(reply);
          else resolve(reply);
          await settle();
        };
        asked.push({ path, answer });
      }),
    onMeasured: ({ path }) => results.push(path),
    clock,
    logger: silentLogger,
    random: () => 0,
  });
  return { clock, results, measurer, take: () => asked.splice(0) };
}

test('a driver that does not answer is not asked again, and holds up no other volume', async () => {
  const { measurer, take, results, clock } = aMeasurer();
  measurer.measureDue([a, b]);
  await take()[1]!.answer(measured);
  assert.deepEqual([results, measurer.measures(a), measurer.measures(b)], [['/b'], false, true]);
  await clock.advance(periodMs);
  measurer.measureDue([a, b]);
  const paths = take().map(({ path }) => path);
  assert.deepEqual(paths, ['/b']);
});

const later: readonly { name: string; reply: VolumeStatsReply | Error; measures: boolean; isDueAtOnce: boolean }[] = [
  { name: 'measures nothing', reply: { outcome: 'unsupported' }, measures: false, isDueAtOnce: false },
  { name: 'is not registered', reply: { outcome: 'absent' }, measures: false, isDueAtOnce: true },
  { name: 'fails', reply: { outcome: 'failed', message: 'no' }, measures: true, isDueAtOnce: false },
  { name: 'is asked through a thread that dies', reply: new Error('died'), measures: true, isDueAtOnce: false },
];
for (const { name, reply, measures, isDueAtOnce } of later) {
  test(`when a driver that has measured a volume ${name}, ${measures ? 'its last numbers stay' : 'statfs measures the volume'}`, async () => {
    const { measurer, take, clock } = aMeasurer();
    measurer.measureDue([a]);
    await take()[0]!.answer(measured);
    measurer.measureDue([a]);
    assert.equal(take().length, 0);
    await clock.advance(periodMs);
    measurer.measureDue([a]);
    await take()[0]!.answer(reply);
    assert.equal(measurer.measures(a), measures);
    measurer.measureDue([a]);
    assert.equal(take().length, isDueAtOnce ? 1 : 0);
  });
}

test('an answer about a volume that is gone is not reported', async () => {
  const { measurer, take, results } = aMeasurer();
  measurer.measureDue([a]);
  measurer.measureDue([]);
  await take()[0]!.answer(measured);
  assert.deepEqual(results, []);
});
