/** Removes cgroups in which a privileged container has done its worst, in the kernel of this host. Needs root. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { CgroupTree } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { aLogger } from '../../support/logger.ts';

const mount = '/sys/fs/cgroup';
const version = existsSync(join(mount, 'cgroup.controllers')) ? 2 : 1;
/** The hierarchy in which a test does its worst. */
const hierarchy = join(mount, version === 2 ? '' : 'pids');
const never = new AbortController().signal;
let tests = 0;

async function aPodCgroup(t: TestContext) {
  const path = `/hostile-cgroups-${process.pid}-${(tests += 1)}`;
  const { logger, lines } = aLogger();
  const tree = new CgroupTree({ root: mount, version, clock: systemClock, logger });
  await tree.create(path);
  t.after(() => tree.remove(path, never));
  const folders = (version === 2 ? [mount] : readdirSync(mount).map((name) => join(mount, name)))
    .map((folder) => join(folder, path))
    .filter((folder) => existsSync(folder));
  const assertRemoved = async () => {
    await tree.remove(path, never);
    assert.deepEqual(
      folders.filter((folder) => existsSync(folder)),
      [],
    );
  };
  return { tree, path, folder: join(hierarchy, path), folders, lines, assertRemoved };
}

/** The process ends with the test in any case. */
function aProcess(t: TestContext, command: string, args: readonly string[]): ChildProcess & { readonly pid: number } {
  const child = spawn(command, args, { stdio: 'ignore' });
  t.after(() => void child.kill('SIGKILL'));
  return child as ChildProcess & { readonly pid: number };
}

const enter = (folder: string, pid: number) => writeFileSync(join(folder, 'cgroup.procs'), String(pid));

test('names of any bytes', async (t) => {
  const { folder, assertRemoved } = await aPodCgroup(t);
  for (const name of [
    Buffer.from([0xff, 0xfe]),
    Buffer.from('..x'),
    Buffer.from(' '),
    Buffer.from('a'.repeat(255)),
    Buffer.from('kubepods.slice'),
  ]) {
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), name]));
  }
  await assertRemoved();
});

test('cgroups nested more deeply than a path can be, while other work of the thread goes on', async (t) => {
  const { folder, assertRemoved } = await aPodCgroup(t);
  const name = 'n'.repeat(50);
  let fd = openSync(folder, 'r');
  for (let depth = 0; depth < 200; depth += 1) {
    mkdirSync(`/proc/self/fd/${fd}/${name}`);
    const below = openSync(`/proc/self/fd/${fd}/${name}`, 'r');
    closeSync(fd);
    fd = below;
  }
  closeSync(fd);
  let otherWork = 0;
  const timer = setInterval(() => (otherWork += 1), 0);
  await assertRemoved();
  clearInterval(timer);
  assert.ok(otherWork > 0);
});

test('thousands of cgroups beside each other', async (t) => {
  const { folder, assertRemoved } = await aPodCgroup(t);
  for (let index = 0; index < 3000; index += 1) mkdirSync(join(folder, `child-${index}`));
  await assertRemoved();
});

test('a frozen process in a frozen cgroup of its own', async (t) => {
  const { path, folders, assertRemoved } = await aPodCgroup(t);
  const child = aProcess(t, 'sleep', ['1000']);
  const own = join(version === 2 ? mount : join(mount, 'freezer'), path, 'own');
  mkdirSync(own);
  enter(own, child.pid);
  if (version === 1)
    enter(
      folders.find((folder) => folder.includes('/pids/'))!,
      child.pid,
    );
  writeFileSync(join(own, version === 2 ? 'cgroup.freeze' : 'freezer.state'), version === 2 ? '1' : 'FROZEN');
  const exited = once(child, 'exit');
  await assertRemoved();
  assert.deepEqual(await exited, [null, 'SIGKILL']);
});

// With v2 a frozen process dies.
if (version === 1) {
  test('a frozen process runs again before its container is stopped', async (t) => {
    const { tree, path } = await aPodCgroup(t);
    const child = aProcess(t, 'sleep', ['1000']);
    const own = join(mount, 'freezer', path, 'own');
    mkdirSync(own);
    enter(own, child.pid);
    writeFileSync(join(own, 'freezer.state'), 'FROZEN');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await tree.thaw(path);
    assert.deepEqual(await exited, [null, 'SIGTERM']);
  });
}

test('a process that nobody reaps', async (t) => {
  const { folder, assertRemoved } = await aPodCgroup(t);
  // The shell's child exits in the cgroup; sleep, which replaces the shell, never waits for it.
  const parent = aProcess(t, 'sh', ['-c', 'sh -c "echo \\$\\$ > $0/cgroup.procs" & exec sleep 1000', folder]);
  const stateOf = () => {
    const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim();
    return children === '' ? '' : readFileSync(`/proc/${children}/status`, 'utf8').match(/^State:\s+(\S)/m)?.[1];
  };
  while (stateOf() !== 'Z') await sleep(10);
  await assertRemoved();
  assert.equal(stateOf(), 'Z');
});

test('processes that fork all the time', async (t) => {
  const { folder, lines, assertRemoved } = await aPodCgroup(t);
  const limit = join(folder, 'pids.max');
  if (existsSync(limit)) writeFileSync(limit, '64');
  // Each shell starts the next one and ends.
  const script = 'echo $$ > $0/cgroup.procs; f() { (f &) ; (f &); }; f';
  aProcess(t, 'sh', ['-c', version === 1 ? `echo $$ > ${folder.replace('/pids/', '/freezer/')}/cgroup.procs; ${script}` : script, folder]);
  while (readFileSync(join(folder, 'cgroup.procs'), 'utf8') === '') await sleep(5);
  await assertRemoved();
  assert.ok(lines.some(({ msg }) => msg === 'killed processes that were left in the cgroup of a pod'));
});

test('the kubelet itself, which is not killed: the removal fails with a reason', async (t) => {
  const { folder, tree, path } = await aPodCgroup(t);
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const [, before = '/'] = new RegExp(version === 2 ? '^0::(.*)$' : '^\\d+:[^:]*\\bpids\\b[^:]*:(.*)$', 'm').exec(own) ?? [];
  enter(folder, process.pid);
  const stop = new AbortController();
  try {
    const removal = tree.remove(path, stop.signal);
    await Promise.race([removal.catch(() => {}), sleep(200)]);
    stop.abort(new Error('enough'));
    await assert.rejects(removal, /enough|cannot remove the cgroup/);
    assert.ok(existsSync(folder));
  } finally {
    enter(join(hierarchy, before), process.pid);
  }
});
