/** The cgroups above those of pods, and what a killed kubelet leaves of pods, with the driver cgroupfs on a real containerd. Time passes six times
 * as fast: levels are checked each minute. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { removeCgroup } from '../../lab/host/cgroups.ts';
import { Cleanups } from '../support/cleanups.ts';
import {
  allPodsHaveWhatIsNotReserved,
  burstableLevelFollowsItsPods,
  changedLevelIsSetAgain,
  hostileCgroupsAreRemoved,
  mountLine,
  changedManifestIsResized,
  podHasItsLimits,
  scenarioConfig,
  type CgroupHost,
} from '../support/kubelet/cgroup-scenarios.ts';
import { fastTime } from '../support/kubelet/kubelet-environment.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const mount = '/sys/fs/cgroup';
const isV1 = !existsSync(join(mount, 'cgroup.controllers'));

describe('cgroups of the node', { skip: !isV1 && 'the values are those of cgroup v1; test/guest has v2' }, () => {
  const hooks = new Cleanups();
  let node: TestNode;

  const read = (controller: string, path: string, file: string) => {
    const name = join(mount, controller, node.cgroupRoot, path, file);
    return existsSync(name) ? readFileSync(name, 'utf8').trim() : '';
  };
  const until = (what: string, isTrue: () => boolean) => waitUntil(what, () => Promise.resolve(isTrue() || null), 20_000);
  const host: CgroupHost = {
    version: 1,
    apply: (manifest) => node.apply(manifest),
    delete: (name) => node.delete(name),
    untilRunning: (name) => node.untilRunning(name),
    containerCgroup: (id) => id,
    mountOptions: async (part) => mountLine(readFileSync('/proc/self/mounts', 'utf8'), part),
    cores: () => Promise.resolve(availableParallelism()),
    memoryBytes: () => Promise.resolve(Number(/^MemTotal:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024),
    read: (cgroup, controller, file) => Promise.resolve(read(controller, cgroup.join('/'), file)),
    write: async (cgroup, controller, file, value) => writeFileSync(join(mount, controller, node.cgroupRoot, ...cgroup, file), value),
    exists: (cgroup) => Promise.resolve(foldersOf(...cgroup).some((folder) => existsSync(folder))),
  };
  /** In all hierarchies. */
  const foldersOf = (...cgroup: string[]) => readdirSync(mount).map((controller) => join(mount, controller, node.cgroupRoot, ...cgroup));

  const ownCgroup = `/kubelet-of-test-${process.pid}`;

  before(async () => {
    hooks.after(async () => {
      await waitUntil('the kubelet’s cgroup is gone', () => Promise.resolve(removeCgroup(ownCgroup)), 10_000);
    });
    node = await TestNode.start(hooks, { env: fastTime(6), config: { ...scenarioConfig, kubeletCgroups: ownCgroup, maxOpenFiles: 6000 } });
    await node.startKubelet();
  });
  after(() => hooks.run());

  test('a pod’s cgroup has its limits, and is gone after the pod', () => podHasItsLimits(host));
  test('a manifest whose resources change is resized in place', () => changedManifestIsResized(host));
  test('all pods have what is not reserved', () => allPodsHaveWhatIsNotReserved(host));
  test('the shares of the Burstable level follow its pods', () => burstableLevelFollowsItsPods(host));
  test('a level that another tool has changed is set again within a minute', () => changedLevelIsSetAgain(host));
  test('what a privileged container has made in its pod’s cgroup is removed with the pod', () => hostileCgroupsAreRemoved(host));

  test('the kubelet and its helpers are in kubeletCgroups, with the limit of maxOpenFiles', async () => {
    const pathsOf = (pid: number | string) =>
      readFileSync(`/proc/${pid}/cgroup`, 'utf8')
        .match(/^\d+:(cpu|memory|pids):.*$/gm)
        ?.toSorted();
    const isMoved = (pid: number | string) => pathsOf(pid)?.every((line) => line.endsWith(`:${ownCgroup}`)) === true;
    const pid = node.kubeletPid;
    await until('the kubelet is moved', () => isMoved(pid));
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    );
    assert.deepEqual(
      children.filter((child) => !isMoved(child)),
      [],
    );
    assert.match(readFileSync(`/proc/${pid}/limits`, 'utf8'), /^Max open files\s+6000\s+6000/m);
  });

  test('a killed kubelet’s cgroups of pods are removed when nobody knows the pod, and completed when the pod exists', async () => {
    node.apply(aManifest('kept', { containers: [aBusybox({ resources: { requests: { cpu: '100m' } } })] }));
    const { metadata } = await node.untilRunning('kept');
    await node.stopKubelet('SIGKILL');
    const orphans = foldersOf('kubepods/podorphan');
    // As after a crash during the creation: not in all hierarchies.
    for (const folder of orphans.slice(0, 3)) if (existsSync(join(folder, '..'))) mkdirSync(folder);
    const kept = `kubepods/burstable/pod${metadata.uid}`;
    writeFileSync(join(mount, 'pids', node.cgroupRoot, kept, 'pids.max'), 'max');
    await node.startKubelet();
    await until('the orphan is gone', () => !orphans.some((folder) => existsSync(folder)));
    assert.equal(read('cpu', kept, 'cpu.shares'), '102');
  });
});
