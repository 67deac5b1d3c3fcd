import assert from 'node:assert/strict';
import { availableParallelism, totalmem } from 'node:os';
import { after, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ProbesThread, StatsThread, SharedThreadState } from '../../../src/main/threads/index.ts';
import { createRuntimeSnapshot } from '../../../src/shared/state/runtime-snapshot.ts';
import { createStorageTable } from '../../../src/shared/state/storage-table.ts';
import { createUsageTable, UsageReader } from '../../../src/shared/state/usage-table.ts';
import { aLogger } from '../../support/logger.ts';

const logging = { format: 'text', verbosity: -9, vmodule: [] } as const;

const rarely = 3_600_000;

function startStats(values: { readonly housekeepingPeriodMs: number }) {
  const { logger } = aLogger();
  const state = new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  const settings = {
    rootDir: '/',
    podLogsDir: '/nowhere',
    cgroupDriver: 'cgroupfs',
    cgroupVersion: 1,
    cgroupFsRoot: '/sys/fs/cgroup',
    cgroupRoot: '/',
    snapshot: createRuntimeSnapshot(10),
    systemCgroups: { kubelet: '', runtime: '', misc: '' },
    usage: createUsageTable(10),
    storage: createStorageTable(10),
    volumeStatsPeriodMs: 60_000,
    ...values,
  } as const;
  const stats = StatsThread.start({ state, logger, settings });
  after(() => stats.close());
  return { stats, usage: new UsageReader(settings.usage) };
}

test('the stats thread returns the machine info, also after a restart', async () => {
  const { stats } = startStats({ housekeepingPeriodMs: 50 });
  const info = await stats.machineInfo();
  assert.equal(info.memoryBytes, totalmem());
  assert.ok(info.numCores >= availableParallelism());
  assert.match(info.bootID, /^[0-9a-f-]{36}$/);
  await stats.thread.kill();
  assert.deepEqual(await stats.machineInfo(), info);
});

test('the stats thread samples on request, however long its period is', async () => {
  const { stats, usage } = startStats({ housekeepingPeriodMs: rarely });
  await stats.sampleNow();
  const readFirst = usage.filesystem('root')!.readAtMs;
  assert.deepEqual(
    usage.all().map(({ identity }) => identity.kind),
    ['root'],
  );
  while (Date.now() <= readFirst) await nextIteration();
  await Promise.all([stats.sampleNow(), stats.sampleNow()]);
  assert.ok(usage.filesystem('root')!.readAtMs > readFirst);
});

test('the probes thread is restarted when it is killed', async () => {
  const { logger } = aLogger();
  const state = new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  let starts = 0;
  const probes = ProbesThread.start({
    state,
    logger,
    settings: { runtimeEndpoint: 'unix:///nowhere', runtimeRequestTimeoutMs: 2000 },
    onNotification: () => {},
    onStart: () => (starts += 1),
  });
  after(() => probes.close());
  const before = probes.thread.threadId;
  await probes.thread.kill();
  await probes.thread.call(async () => {});
  assert.notEqual(probes.thread.threadId, before);
  assert.equal(starts, 2);
});
