/** Creates and removes pods' cgroups in the kernel of this host, below a cgroup root of the test. Needs root. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { CgroupTree, createCgroupManager, PodCgroups } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { aLogger } from '../../support/logger.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';

const mount = '/sys/fs/cgroup';
const version = existsSync(join(mount, 'cgroup.controllers')) ? 2 : 1;
/** Returns the folders of a cgroup, one for each hierarchy. */
const foldersOf = (path: string) =>
  (version === 2 ? [mount] : readdirSync(mount).map((controller) => join(mount, controller))).map((folder) => join(folder, path));

async function aNode(t: TestContext) {
  const cgroupRoot = `/cgroups-test-${process.pid}`;
  const { logger, lines } = aLogger();
  const tree = new CgroupTree({ root: mount, version, clock: systemClock, logger });
  const settings = {
    cgroupDriver: 'cgroupfs',
    cgroupVersion: version,
    cgroupRoot,
    cgroupsPerQOS: true,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodUs: 100_000,
    podPidsLimit: 64,
    memoryReservationPolicy: 'None',
    memoryThrottlingFactor: null,
    featureGates: podSyncGatesWith(),
  } as const;
  const manager = await createCgroupManager(settings.cgroupDriver, { tree, version, hugePageSizes: [], clock: systemClock, logger });
  const cgroups = new PodCgroups({ settings, tree, manager, hugePageSizes: [], clock: systemClock, logger });
  t.after(() => {
    cgroups.close();
    for (const path of ['/kubepods/burstable', '/kubepods/besteffort', '/kubepods', ''].map((below) => cgroupRoot + below)) {
      for (const folder of foldersOf(path)) if (existsSync(folder)) rmdirSync(folder);
    }
  });
  return { cgroups, lines };
}

const resources = { requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } };
const pod = aPod({ containers: [aContainer('app', { resources })] }, { uid: 'cgroup-pod' });
const uid = 'cgroup-pod' as PodUID;

test('the kernel accepts the values of a pod, and the removal of its cgroup kills the remaining processes', async (t) => {
  const { cgroups, lines } = await aNode(t);
  await cgroups.ensureExists(pod);
  assert.deepEqual(lines, []);
  assert.ok(await cgroups.exists(pod));
  const path = cgroups.cgroupParent(pod);
  const value = (controller: string, file: string) => readFileSync(join(mount, version === 1 ? controller : '', path, file), 'utf8').trim();
  if (version === 1) {
    assert.equal(value('cpu', 'cpu.shares'), '512');
    assert.equal(value('cpu', 'cpu.cfs_quota_us'), '100000');
    assert.equal(value('memory', 'memory.limit_in_bytes'), String(128 * 1024 * 1024));
  } else {
    assert.equal(value('cpu', 'cpu.max'), '100000 100000');
    assert.equal(value('memory', 'memory.max'), String(128 * 1024 * 1024));
  }
  assert.equal(value('pids', 'pids.max'), '64');

  // On a hybrid host, runtimes put processes into both hierarchies.
  const hybrid = join(mount, 'unified');
  if (version === 1 && existsSync(join(hybrid, 'cgroup.controllers'))) assert.ok(existsSync(join(hybrid, path)));

  const remaining = spawn('sleep', ['1000']);
  for (const folder of foldersOf(path)) {
    if (!existsSync(folder)) continue;
    mkdirSync(join(folder, 'container'), { recursive: true });
    if (folder.includes('/cpuset/')) continue;
    writeFileSync(join(folder, 'container/cgroup.procs'), String(remaining.pid));
  }
  const exited = once(remaining, 'exit');
  await cgroups.remove(uid, new AbortController().signal);
  assert.deepEqual(await exited, [null, 'SIGKILL']);
  assert.ok(foldersOf(path).every((folder) => !existsSync(folder)));
  assert.equal(await cgroups.exists(pod), false);
});

test('the cgroups of many pods are created and removed concurrently', async (t) => {
  const { cgroups } = await aNode(t);
  const pods = Array.from({ length: 20 }, (_, i) => aPod({}, { uid: `cgroup-pod-${i}` }));
  await Promise.all(pods.map((each) => cgroups.ensureExists(each)));
  assert.ok((await Promise.all(pods.map((each) => cgroups.exists(each)))).every(Boolean));
  await Promise.all(pods.map((each) => cgroups.remove(each.metadata.uid as PodUID, new AbortController().signal)));
  assert.ok((await Promise.all(pods.map((each) => cgroups.exists(each)))).every((exists) => !exists));
});
