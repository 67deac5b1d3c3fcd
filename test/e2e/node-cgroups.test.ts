/** The cgroups above those of pods, and what a killed kubelet leaves of pods, with the driver cgroupfs on a real containerd. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { removeCgroup } from '../../scripts/host/cgroups.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const mount = '/sys/fs/cgroup';
const isV1 = !existsSync(join(mount, 'cgroup.controllers'));

describe('cgroups of the node', { skip: !isV1 && 'the values are those of cgroup v1; test/guest has v2' }, () => {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const hooks = { after: (clean: () => Promise<unknown> | void) => void cleanups.push(clean) };
  let node: TestNode;

  const read = (controller: string, path: string, file: string) => {
    const name = join(mount, controller, node.cgroupRoot, path, file);
    return existsSync(name) ? readFileSync(name, 'utf8').trim() : '';
  };
  const until = (what: string, isTrue: () => boolean) => waitUntil(what, () => Promise.resolve(isTrue() || null), 20_000);
  const burstable = (name: string, cpu: string) => aManifest(name, { containers: [aBusybox({ resources: { requests: { cpu } } })] });

  const ownCgroup = `/kubelet-of-test-${process.pid}`;

  before(async () => {
    cleanups.push(() => waitUntil('the kubelet’s cgroup is gone', () => Promise.resolve(removeCgroup(ownCgroup)), 10_000).then(() => {}));
    node = await TestNode.start(hooks, {
      config: {
        kubeReserved: { cpu: '100m', memory: '100Mi' },
        enforceNodeAllocatable: ['pods'],
        podPidsLimit: 200,
        kubeletCgroups: ownCgroup,
        maxOpenFiles: 6000,
      },
    });
    await node.startKubelet();
  });
  after(async () => {
    for (const clean of cleanups.toReversed()) await clean();
  });

  test('all pods have what is not reserved', async () => {
    const [, kibibytes] = /^MemTotal:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
    const bytes = Number(kibibytes) * 1024 - 100 * 2 ** 20;
    await until('the limit is set', () => read('memory', 'kubepods', 'memory.limit_in_bytes') === String(bytes));
    assert.equal(read('cpu', 'kubepods', 'cpu.shares'), String(Math.floor(((availableParallelism() * 1000 - 100) * 1024) / 1000)));
  });

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

  test('the shares of the Burstable level follow its pods', async () => {
    node.apply(burstable('first', '500m'));
    node.apply(burstable('second', '250m'));
    await until('the shares are the sum', () => read('cpu', 'kubepods/burstable', 'cpu.shares') === '768');
    node.delete('first');
    await until('the shares are those of the other pod', () => read('cpu', 'kubepods/burstable', 'cpu.shares') === '256');
    assert.equal(read('cpu', 'kubepods/besteffort', 'cpu.shares'), '2');
  });

  test('a killed kubelet’s cgroups of pods are removed when nobody knows the pod, and completed when the pod exists', async () => {
    node.apply(burstable('kept', '100m'));
    const { metadata } = await node.untilRunning('kept');
    await node.stopKubelet('SIGKILL');
    const orphans = readdirSync(mount).map((controller) => join(mount, controller, node.cgroupRoot, 'kubepods/podorphan'));
    // As after a crash during the creation: not in all hierarchies.
    for (const folder of orphans.slice(0, 3)) if (existsSync(join(folder, '..'))) mkdirSync(folder);
    const kept = `kubepods/burstable/pod${metadata.uid}`;
    writeFileSync(join(mount, 'pids', node.cgroupRoot, kept, 'pids.max'), 'max');
    await node.startKubelet();
    await until('the orphan is gone', () => !orphans.some((folder) => existsSync(folder)));
    assert.equal(read('cpu', kept, 'cpu.shares'), '102');
  });
});
