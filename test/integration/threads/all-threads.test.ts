/** Kills each of the kubelet's threads, without a runtime: each is restarted. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthThread } from '../../../src/main/threads/health-thread.ts';
import { ImagesThread } from '../../../src/main/threads/images-thread.ts';
import { PlegThread } from '../../../src/main/threads/pleg-thread.ts';
import { PodSyncPool } from '../../../src/main/threads/pod-sync-pool.ts';
import { ProbesThread } from '../../../src/main/threads/probes-thread.ts';
import { ServerThread } from '../../../src/main/threads/server-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import { StatsThread } from '../../../src/main/threads/stats-thread.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import { HeartbeatsReader, type ThreadHealth } from '../../../src/shared/state/heartbeats.ts';
import { createRuntimeSnapshot } from '../../../src/shared/state/runtime-snapshot.ts';
import { createStorageTable } from '../../../src/shared/state/storage-table.ts';
import { createUsageTable } from '../../../src/shared/state/usage-table.ts';
import { aLogger } from '../../support/logger.ts';
import { anyPort, serverSettings, fakeMainApi } from '../../support/server/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'threads-'));
const runtimeEndpoint = `unix://${folder}/no-runtime.sock`;
const { logger, lines } = aLogger();
const logging = { format: 'text', verbosity: -9, vmodule: [] } as const;
const state = new SharedThreadState({ logging, podSyncThreads: 2, syncFrequencyMs: 60_000 });
const snapshot = createRuntimeSnapshot(110);

function startAll() {
  const common = { state, logger };
  const limits = { runtimeRequestTimeoutMs: 2000, podLogsDir: join(folder, 'pods'), containerLogsDir: join(folder, 'containers') };
  const settings = {
    runtimeEndpoint,
    imageEndpoint: runtimeEndpoint,
    ...limits,
    rootDir: folder,
    seccompDefault: false,
    seccompProfileRoot: folder,
    cgroupDriver: 'cgroupfs',
    cgroupVersion: 1,
    cgroupFsRoot: join(folder, 'cgroup'),
    cgroupRoot: '/',
    cgroupsPerQOS: true,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodUs: 100_000,
    podPidsLimit: -1,
    memorySwapBehavior: '',
    memoryReservationPolicy: 'None',
    memoryThrottlingFactor: 0.9,
    reservedMemoryBytes: 0,
    clusterDNS: [],
    clusterDomain: '',
    resolvConf: '/etc/resolv.conf',
    allowedUnsafeSysctls: [],
    defaultPodSysctls: {},
    maxContainerBackOffMs: 300_000,
    initialContainerBackOffMs: 10_000,
    singleProcessOOMKill: true,
    featureGates: podSyncGatesWith(),
  } satisfies PodSyncSettings;
  const server = ServerThread.start({
    ...common,
    settings: serverSettings(),
    mainApi: fakeMainApi(),
  });
  const health = HealthThread.start({ ...common, settings: { listen: anyPort } });
  const pleg = PlegThread.start({
    ...common,
    settings: {
      runtimeEndpoint,
      relistPeriodMs: 1000,
      runtimeRequestTimeoutMs: 2000,
      useEventStream: true,
      rootDir: folder,
      podLogsDir: folder,
      snapshot,
    },
    onMessage: () => {},
  });
  const usage = createUsageTable(110);
  const images = ImagesThread.start({
    ...common,
    settings: {
      ...limits,
      runtimeEndpoint,
      imageEndpoint: runtimeEndpoint,
      serializeImagePulls: false,
      maxParallelImagePulls: null,
      rootDir: folder,
      verificationPolicy: { name: 'NeverVerifyPreloadedImages', allowlist: [] },
      credentialProviders: [],
      byRuntimeHandler: false,
      live: {
        registryPullQPS: 5,
        registryBurst: 10,
        imageGc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
        logRotation: { maxSizeBytes: 1024, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 3000 },
      },
      splitDisks: true,
      snapshot,
      usage,
    },
    onEvent: () => {},
    onPullWait: () => {},
    pullToken: () => Promise.reject(new Error('no tokens here')),
  });
  const stats = StatsThread.start({
    ...common,
    settings: {
      ...settings,
      statsFromRuntime: '',
      housekeepingPeriodMs: 10_000,
      memoryThresholds: [],
      notifiesMemoryUsage: false,
      snapshot,
      systemCgroups: { kubelet: '', runtime: '', misc: '' },
      usage,
      storage: createStorageTable(110),
      runtimeEndpoint,
      runtimeRequestTimeoutMs: 2000,
      volumeStatsPeriodMs: 60_000,
      projectQuotas: false,
      hugePageAware: true,
    },
  });
  const probes = ProbesThread.create({
    ...common,
    settings: { runtimeEndpoint, runtimeRequestTimeoutMs: 2000 },
  });
  const pool = PodSyncPool.start({ ...common, settings });
  return { server, health, pleg, images, stats, probes, pool };
}

const heartbeat = state.enterMain();
const threads = startAll();
await threads.probes.setPods([]);
after(async () => {
  heartbeat.stop();
  await Promise.all(Object.values(threads).map((thread) => thread.close()));
  rmSync(folder, { recursive: true });
});

const health = (name: string) => new HeartbeatsReader(state.heartbeats).threads().filter(({ thread }) => thread.startsWith(name));
async function until(name: string, condition: (threads: readonly ThreadHealth[]) => boolean): Promise<void> {
  while (!condition(health(name))) await sleep(5);
}
const isRunning = (row: ThreadHealth) => row.alive === 1 && row.beat !== undefined;

test('every thread starts and has a heartbeat', { timeout: 60_000 }, async () => {
  for (const name of ['main', 'pleg', 'images', 'stats', 'probes', 'server', 'health']) await until(name, ([row]) => isRunning(row!));
  await until('pod-sync', (rows) => rows.filter(isRunning).length === 1);
});

for (const name of ['pleg', 'images', 'stats', 'probes', 'server', 'health'] as const) {
  test(`${name}, is restarted when it is killed, with a heartbeat; its death is logged and counted`, { timeout: 60_000 }, async () => {
    await threads[name].thread.kill();
    await until(name, ([row]) => row!.deaths === 1 && isRunning(row!));
    assert.equal(lines.filter(({ msg, thread }) => msg.startsWith('thread died') && thread === name).length, 1);
  });
}

test('a killed thread of the pool is replaced', { timeout: 60_000 }, async () => {
  await threads.pool.kill(0);
  await until('pod-sync', (rows) => rows.reduce((sum, { deaths }) => sum + deaths, 0) === 1 && rows.filter(isRunning).length === 1);
});

test('health and metrics show the deaths', { timeout: 60_000 }, async () => {
  const { readOnly } = await threads.server.addresses();
  const healthz = await threads.health.address();
  const page = await (await fetch(`http://127.0.0.1:${readOnly?.port}/metrics`)).text();
  for (const name of ['pleg', 'images', 'stats', 'probes', 'server', 'health'])
    assert.match(page, new RegExp(`kubelet_thread_deaths_total\\{thread="${name}"\\} 1\n`));
  assert.match(await (await fetch(`http://127.0.0.1:${healthz?.port}/healthz?verbose`)).text(), /thread-pleg ok \(died 1 times/);
});
