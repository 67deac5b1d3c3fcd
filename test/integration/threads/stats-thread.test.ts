import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ProbesThread } from '../../../src/main/threads/probes-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import { StatsThread } from '../../../src/main/threads/stats-thread.ts';
import type { StatsThreadOptions } from '../../../src/main/threads/stats-thread.ts';
import type { MemoryPressure } from '../../../src/shared/contracts/stats.ts';
import { createRuntimeSnapshot } from '../../../src/shared/state/runtime-snapshot.ts';
import { createStorageTable } from '../../../src/shared/state/storage-table.ts';
import { createUsageTable, UsageReader } from '../../../src/shared/state/usage-table.ts';
import { createCgroup, removeCgroup } from '../../../lab/host/cgroups.ts';
import { aLogger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

// Before the first use of a file thread. With fewer, the stats thread does not wait for the kernel.
process.env['UV_THREADPOOL_SIZE'] = '8';
const logging = { format: 'text', verbosity: -9, vmodule: [] } as const;

const rarely = 3_600_000;

function startStats(settings: Partial<StatsThreadOptions['settings']> = {}) {
  const { logger } = aLogger();
  const usage = createUsageTable(10);
  const stats = StatsThread.start({
    state: new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 }),
    logger,
    settings: {
      runtimeEndpoint: 'unix:///nowhere',
      runtimeRequestTimeoutMs: 2000,
      rootDir: '/',
      podLogsDir: '/nowhere',
      cgroupDriver: 'cgroupfs',
      cgroupVersion: 1,
      cgroupFsRoot: '/sys/fs/cgroup',
      cgroupRoot: '/',
      cgroupsPerQOS: false,
      housekeepingPeriodMs: 50,
      memoryThresholds: [],
      notifiesMemoryUsage: false,
      snapshot: createRuntimeSnapshot(10),
      systemCgroups: { kubelet: '', runtime: '', misc: '' },
      usage,
      storage: createStorageTable(10),
      volumeStatsPeriodMs: 60_000,
      projectQuotas: false,
      hugePageAware: true,
      statsFromRuntime: '',
      ...settings,
    },
  });
  after(() => stats.close());
  return { stats, usage: new UsageReader(usage) };
}

test('the stats thread returns the machine info, also after a restart', async () => {
  const { stats } = startStats();
  const info = await stats.machineInfo();
  assert.equal(info.memoryBytes, totalmem());
  assert.ok(info.numCores >= availableParallelism());
  assert.match(info.bootID, /^[0-9a-f-]{36}$/);
  await stats.thread.kill();
  assert.deepEqual(await stats.machineInfo(), info);
});

test('the stats thread samples on request, however long its period is', async () => {
  // Another kubelet of the host may have cgroups of pods.
  const { stats, usage } = startStats({ housekeepingPeriodMs: rarely, cgroupRoot: `/no-pods-${process.pid}` });
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

test('the stats thread reports the kernel’s notifications of memory usage, also after a restart', async () => {
  const root = `stats-thread-${process.pid}`;
  const pods = `/sys/fs/cgroup/memory/${root}/kubepods`;
  mkdirSync(pods, { recursive: true });
  writeFileSync(`${pods}/memory.limit_in_bytes`, String(200 * 2 ** 20));
  const { stats } = startStats({
    cgroupRoot: `/${root}`,
    memoryThresholds: [{ scope: 'pods', available: { bytes: 100 * 2 ** 20 } }],
    notifiesMemoryUsage: true,
  });
  const reports: MemoryPressure[] = [];
  stats.listeners.memoryPressure.add((event) => reports.push(event));
  const untilReports = async (count: number) => {
    // The thread asks for notifications some time after its start.
    while (reports.length < count) await promisify(exec)(`echo $$ > ${pods}/cgroup.procs && dd if=/dev/zero of=/dev/null bs=150M count=1`);
  };
  try {
    await untilReports(1);
    await stats.thread.kill();
    await untilReports(reports.length + 1);
    assert.deepEqual(reports[0], { type: 'memoryPressure', source: 'usage' });
  } finally {
    await stats.close();
    rmdirSync(pods);
    rmdirSync(dirname(pods));
  }
});

test('the stats thread reports each cgroup of a pod that appears, also in a level that is made later or again, and after a restart', async () => {
  const root = `/stats-thread-pods-${process.pid}`;
  createCgroup(root);
  const { stats } = startStats({ cgroupRoot: root, cgroupsPerQOS: true, housekeepingPeriodMs: rarely });
  const reported: string[] = [];
  stats.listeners.podCgroups.add(({ podUIDs }) => reported.push(...podUIDs));
  const untilReported = async (...uids: string[]) => {
    await waitUntil(
      () => `${String(uids)} are reported; reported: ${String(reported)}`,
      () => uids.every((uid) => reported.includes(uid)),
    );
    assert.deepEqual(reported.splice(0).toSorted(), uids.toSorted());
  };
  try {
    createCgroup(`${root}/kubepods/podearly`);
    await untilReported('early');
    createCgroup(`${root}/kubepods/burstable`);
    createCgroup(`${root}/kubepods/burstable/podlate`);
    createCgroup(`${root}/kubepods/besteffort/podsoon-gone`);
    assert.ok(removeCgroup(`${root}/kubepods/besteffort/podsoon-gone`));
    await untilReported('late');
    await stats.thread.kill();
    await stats.machineInfo();
    await untilReported('early', 'late');
    assert.ok(removeCgroup(`${root}/kubepods`));
    createCgroup(`${root}/kubepods/burstable/podagain`);
    await untilReported('again');
  } finally {
    await stats.close();
    assert.ok(removeCgroup(root));
  }
});

test('the probes thread is restarted when it is killed', async () => {
  const { logger } = aLogger();
  const state = new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  let starts = 0;
  const probes = ProbesThread.create({
    state,
    logger,
    settings: { runtimeEndpoint: 'unix:///nowhere', runtimeRequestTimeoutMs: 2000 },
  });
  probes.starts.add(() => (starts += 1));
  after(() => probes.close());
  const before = probes.thread.threadId;
  await probes.thread.kill();
  await probes.thread.call(async () => {});
  assert.notEqual(probes.thread.threadId, before);
  assert.equal(starts, 2);
});
