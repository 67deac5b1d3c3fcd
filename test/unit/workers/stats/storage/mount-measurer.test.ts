import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { FilesystemUsage } from '../../../../../src/shared/state/filesystem-table.ts';
import { MountMeasurer, type MountedVolume } from '../../../../../src/workers/stats/storage/mount-measurer.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const nfs = (path: string, device = '0:50'): MountedVolume => ({ path, mount: { fsType: 'nfs4', device } });
const sizes = { type: 0x6969, capacityBytes: 100, availableBytes: 60, usedBytes: 40, inodes: 10, inodesFree: 7 };

function aMeasurer(statfs: (path: string) => Promise<typeof sizes>) {
  const clock = new FakeClock(7000);
  const measured = new Map<string, FilesystemUsage>();
  const asked: string[] = [];
  const measurer = new MountMeasurer({
    periodMs: 60_000,
    statfs: (path) => {
      asked.push(path);
      return statfs(path);
    },
    onMeasured: ({ path }, usage) => measured.set(path, usage),
    clock,
    logger: aLogger().logger,
    random: () => 0.5,
  });
  return { clock, measurer, measured, asked };
}
const hang = () => Promise.reject(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));

suite('the measurement of mounted volumes', () => {
  test('asks for each once in a period, with jitter', async () => {
    const { clock, measurer, measured, asked } = aMeasurer(async () => sizes);
    await measurer.measureDue([nfs('/a'), nfs('/b')]);
    const { type, ...values } = sizes;
    assert.deepEqual([measured.get('/a'), type], [{ ...values, readAtMs: 7000, inodesUsed: 3 }, 0x6969]);
    await clock.advance(89_999);
    await measurer.measureDue([nfs('/a'), nfs('/b')]);
    assert.deepEqual(asked, ['/a', '/b']);
    await clock.advance(1);
    await measurer.measureDue([nfs('/b')]);
    assert.deepEqual(asked, ['/a', '/b', '/b']);
  });

  test('asks a dead server once for all of its volumes, and then rarely', async () => {
    const { clock, measurer, measured, asked } = aMeasurer((path) => (path.startsWith('/dead') ? hang() : Promise.resolve(sizes)));
    const volumes = [nfs('/dead1'), nfs('/dead2'), nfs('/dead3'), nfs('/alive', '0:51')];
    await measurer.measureDue(volumes);
    assert.deepEqual(asked, ['/dead1', '/alive']);
    await clock.advance(299_999);
    await measurer.measureDue(volumes);
    assert.deepEqual(asked.splice(0), ['/dead1', '/alive', '/alive']);
    await clock.advance(1);
    await measurer.measureDue(volumes);
    assert.deepEqual(asked.splice(0), ['/dead1']);
    // Twice as long the second time.
    await clock.advance(599_000);
    await measurer.measureDue(volumes);
    assert.deepEqual(asked, ['/alive']);
    assert.deepEqual([...measured.keys()], ['/alive']);
  });

  test('does nothing while a filesystem is waited for', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof sizes>();
    const { measurer, asked } = aMeasurer(() => promise);
    const first = measurer.measureDue([nfs('/a')]);
    await measurer.measureDue([nfs('/b')]);
    resolve(sizes);
    await first;
    assert.deepEqual(asked, ['/a']);
  });
});
