/** Moves processes of the host: between folders of a fake hierarchy, and between cgroups of this host's kernel. The latter needs root. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { CgroupTree } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { ProcessMover } from '../../../src/workers/pod-sync/node/host-processes.ts';
import { silentLogger } from '../../support/logger.ts';

interface FakeProcess {
  readonly cgroup?: string;
  readonly pidNamespace?: string;
  readonly children?: string;
  readonly isKernelThread?: boolean;
  readonly oomScoreAdj?: string;
}

function aHost(t: TestContext, processes: Readonly<Record<number, FakeProcess>>) {
  const folder = mkdtempSync(join(tmpdir(), 'host-processes-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [proc, root] = [join(folder, 'proc'), join(folder, 'cgroup')];
  mkdirSync(root);
  writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory\n');
  for (const [pid, { cgroup = '/', pidNamespace = 'pid:[1]', children = '', isKernelThread = false, oomScoreAdj = '0' }] of Object.entries(
    processes,
  )) {
    mkdirSync(join(proc, pid, 'ns'), { recursive: true });
    mkdirSync(join(proc, pid, 'task', pid), { recursive: true });
    symlinkSync(pidNamespace, join(proc, pid, 'ns/pid'));
    if (!isKernelThread) symlinkSync('/bin/true', join(proc, pid, 'exe'));
    writeFileSync(join(proc, pid, 'task', pid, 'children'), children);
    writeFileSync(join(proc, pid, 'cgroup'), `0::${cgroup}\n`);
    writeFileSync(join(proc, pid, 'oom_score_adj'), `${oomScoreAdj}\n`);
  }
  const tree = new CgroupTree({ root, version: 2, clock: systemClock, logger: silentLogger });
  const moves: string[] = [];
  /** The kernel moves a process from the root's list to that of the cgroup. */
  const setRoot = (pids: readonly number[]) => writeFileSync(join(root, 'cgroup.procs'), pids.map((pid) => `${pid}\n`).join(''));
  const move = async (path: string, pid: number) => {
    moves.push(`${pid} ${path}`);
    await tree.join(path, pid);
    setRoot((await tree.processesOfRoot()).filter((each) => each !== pid));
  };
  setRoot([]);
  const hostProcesses = new ProcessMover({
    tree: { create: (path) => tree.create(path), join: move, processesOfRoot: () => tree.processesOfRoot() },
    proc,
    pid: 100,
  });
  const score = () => readFileSync(join(proc, '100/oom_score_adj'), 'utf8').trim();
  return { hostProcesses, moves, setRoot, score, root };
}

const task = { systemCgroup: '', kubeletCgroup: '', oomScoreAdj: -999 };

test('the kubelet and its helpers are moved once, and the OOM score is set', async (t) => {
  const { hostProcesses, moves, score } = aHost(t, { 1: {}, 100: { children: '101 102' }, 101: {}, 102: { cgroup: '/kube/kubelet' } });
  assert.deepEqual(await hostProcesses.move({ ...task, kubeletCgroup: 'kube/kubelet' }), { failures: [] });
  assert.deepEqual(moves, ['100 /kube/kubelet', '101 /kube/kubelet']);
  assert.equal(score(), '-999');
});

test('without kubeletCgroups the kubelet stays, and has its OOM score', async (t) => {
  const { hostProcesses, moves, score } = aHost(t, { 1: {}, 100: {} });
  await hostProcesses.move(task);
  assert.deepEqual(moves, []);
  assert.equal(score(), '-999');
});

test('a kubelet in a container of its own is left alone', async (t) => {
  const { hostProcesses, moves, score } = aHost(t, { 1: {}, 100: { pidNamespace: 'pid:[2]' } });
  assert.deepEqual(await hostProcesses.move({ ...task, kubeletCgroup: '/kubelet' }), { failures: [] });
  assert.deepEqual(moves, []);
  assert.equal(score(), '0');
});

test('the root’s processes are moved to systemCgroups, except those of the kernel and PID 1', async (t) => {
  const { hostProcesses, moves, setRoot } = aHost(t, { 1: {}, 2: { isKernelThread: true }, 7: {}, 8: {}, 100: { oomScoreAdj: '-999' } });
  setRoot([1, 2, 7, 8]);
  assert.deepEqual(await hostProcesses.move({ ...task, systemCgroup: '/system' }), { failures: [] });
  assert.deepEqual(moves, ['7 /system', '8 /system']);
});

test('a process that cannot be moved is a failure with its PID; the others are moved, and the passes end', async (t) => {
  const { hostProcesses, moves, setRoot, root } = aHost(t, { 1: {}, 7: {}, 100: { oomScoreAdj: '-999' } });
  setRoot([7]);
  // A file in the way.
  writeFileSync(join(root, 'system'), '');
  const { failures } = await hostProcesses.move({ ...task, systemCgroup: '/system' });
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /^failed to move PID 7 to "\/system": /);
  assert.deepEqual(moves, []);
});

test('the kernel moves a process in every hierarchy', async (t) => {
  const mount = '/sys/fs/cgroup';
  const version = existsSync(join(mount, 'cgroup.controllers')) ? 2 : 1;
  const tree = new CgroupTree({ root: mount, version, clock: systemClock, logger: silentLogger });
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  t.after(() => void child.kill('SIGKILL'));
  const cgroup = `/host-processes-${process.pid}`;
  t.after(() => tree.remove(cgroup, new AbortController().signal));
  const pid = child.pid ?? 0;
  const isMounted = (line: string) => existsSync(join(mount, line.split(':')[1]?.replace('name=', '') ?? ''));
  const hostProcesses = new ProcessMover({ tree, pid });
  // Raising the score needs no permission.
  assert.deepEqual(await hostProcesses.move({ systemCgroup: '', kubeletCgroup: cgroup, oomScoreAdj: 500 }), { failures: [] });
  const elsewhere = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .trim()
    .split('\n')
    // v2's hierarchy of a hybrid host has no controllers, and one that is not mounted can not be used.
    .filter((line) => !line.endsWith(`:${cgroup}`) && !(version === 1 && (line.startsWith('0::') || !isMounted(line))));
  assert.deepEqual(elsewhere, []);
  assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '500');
});
