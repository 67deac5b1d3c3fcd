/** The cgroup driver systemd on a D-Bus connection: slices, their values, and a systemd that is slow, restarted or gone. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { CgroupTree } from '../../../src/workers/pod-sync/cgroups/index.ts';
import { SystemdClient } from '../../../src/workers/pod-sync/cgroups/systemd/systemd-client.ts';
import { SystemdManager } from '../../../src/workers/pod-sync/cgroups/systemd/systemd-manager.ts';
import { FakeSystemd } from '../../support/fake-systemd.ts';
import { aLogger } from '../../support/logger.ts';

const name = ['kubepods', 'burstable', 'poduid-1'];
const unit = 'kubepods-burstable-poduid_1.slice';
const path = `kubepods.slice/kubepods-burstable.slice/${unit}`;
const resources = { cpuShares: 512, cpuQuotaUs: 33_300, cpuPeriodUs: 100_000, memoryBytes: 64 << 20, pidsLimit: 100 };

async function aHost(t: TestContext, { callTimeoutMs = 2_000, jobTimeoutMs = 2_000 } = {}) {
  const systemd = await new FakeSystemd().listen();
  const root = mkdtempSync(join(tmpdir(), 'cgroups-'));
  writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  systemd.onStart = (started) => mkdirSync(join(root, 'kubepods.slice/kubepods-burstable.slice', started), { recursive: true });
  const { logger, lines } = aLogger();
  const tree = new CgroupTree({ root, version: 2, clock: systemClock, logger, kill: () => true });
  const client = new SystemdClient({ sockets: [systemd.socket], clock: systemClock, logger, callTimeoutMs, jobTimeoutMs });
  const manager = new SystemdManager({ tree, version: 2, hugePageSizes: [], logger }, client);
  t.after(async () => {
    manager.close();
    await systemd[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });
  return { systemd, manager, lines, folder: join(root, path), read: (file: string) => readFileSync(join(root, path, file), 'utf8') };
}

test('a slice starts with its limits, which systemd and the kernel’s files have', async (t) => {
  const { systemd, manager, lines, read } = await aHost(t);
  await manager.create(name, resources);
  const properties = systemd.units.get(unit) ?? {};
  assert.deepEqual(properties['Wants'], ['kubepods-burstable.slice']);
  assert.equal(properties['MemoryMax'], 67_108_864n);
  assert.equal(properties['TasksMax'], 100n);
  assert.equal(properties['CPUWeight'], 20n);
  // 33.3 % of a CPU, rounded up to a percent.
  assert.equal(properties['CPUQuotaPerSecUSec'], 340_000n);
  assert.equal(read('cpu.max'), '34000 100000');
  assert.equal(read('memory.max'), '67108864');
  assert.deepEqual(lines, []);
});

test('the values of a slice that exists are set again', async (t) => {
  const { systemd, manager } = await aHost(t);
  await manager.create(name, resources);
  await manager.create(name, { ...resources, memoryBytes: 128 << 20 });
  assert.equal(systemd.units.get(unit)?.['MemoryMax'], 134_217_728n);
});

for (const [what, stopping] of [
  ['a slice that another kubelet stops', unit],
  ['a slice in which systemd stops a scope', 'cri-containerd-1.scope'],
] as const) {
  test(`${what} is started with its limits after its processes are killed`, async (t) => {
    const { systemd, manager, folder, read } = await aHost(t);
    systemd.units.set(unit, {});
    systemd.stopping.set('ssh.service', '').set('of-another-pod.scope', 'other.slice').set(stopping, unit);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cgroup.kill'), '');
    writeFileSync(join(folder, 'cgroup.procs'), '4194305\n');
    await manager.create(name, resources);
    assert.equal(read('cgroup.kill'), '1');
    assert.deepEqual(
      systemd.calls.filter((call) => call.endsWith(unit)),
      [`StartTransientUnit ${unit}`, `SetUnitProperties ${unit}`, `StartUnit ${unit}`],
    );
    assert.equal(systemd.units.get(unit)?.['MemoryMax'], 67_108_864n);
    assert.equal(read('memory.max'), '67108864');
  });
}

test('the processes of a slice that exists stay when systemd stops only others', async (t) => {
  const { systemd, manager, folder, read } = await aHost(t);
  systemd.units.set(unit, {});
  systemd.stopping.set('of-another-pod.scope', 'other.slice');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'cgroup.kill'), '');
  writeFileSync(join(folder, 'cgroup.procs'), '4194305\n');
  await manager.create(name, resources);
  assert.equal(read('cgroup.kill'), '');
});

test('a slice that is stopped and still loaded is started again with its limits', async (t) => {
  const { systemd, manager, folder, read } = await aHost(t);
  systemd.units.set(unit, {});
  systemd.inactive.add(unit);
  await manager.create(name, resources);
  assert.deepEqual([...systemd.inactive], []);
  assert.equal(systemd.units.get(unit)?.['MemoryMax'], 67_108_864n);
  assert.ok(existsSync(folder));
  assert.equal(read('memory.max'), '67108864');
});

test('a slice without a cgroup is an error', async (t) => {
  const { systemd, manager } = await aHost(t);
  systemd.onStart = () => {};
  await assert.rejects(manager.create(name, resources), /has started kubepods-burstable-poduid_1\.slice, but there is no cgroup/);
});

test('when systemd cannot stop a slice its cgroup stays, and the next attempt removes both', async (t) => {
  const { systemd, manager, folder } = await aHost(t, { callTimeoutMs: 200 });
  await manager.create(name, resources);
  systemd.isHung = true;
  await assert.rejects(manager.remove(name, new AbortController().signal), /StopUnit/);
  assert.ok(existsSync(folder));
  systemd.isHung = false;
  // The kernel removes the files with the folder.
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  await manager.remove(name, new AbortController().signal);
  assert.deepEqual([...systemd.units.keys()], []);
  assert.ok(!existsSync(folder));
});

test('a removed cgroup leaves no unit and no folder; removing it again succeeds', async (t) => {
  const { systemd, manager, folder } = await aHost(t);
  await manager.create(name, resources);
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  await manager.remove(name, new AbortController().signal);
  await manager.remove(name, new AbortController().signal);
  assert.deepEqual([...systemd.units.keys()], []);
  assert.ok(!existsSync(folder));
});

test('a job that fails is an error with the name of the unit and the result', async (t) => {
  const { systemd, manager } = await aHost(t);
  systemd.jobResult = 'failed';
  await assert.rejects(manager.create(name, resources), /kubepods-burstable-poduid_1\.slice.*"failed"/);
});

test('a job that does not end, and a systemd that does not answer, are errors after their deadlines', async (t) => {
  const { systemd, manager } = await aHost(t, { callTimeoutMs: 1_500, jobTimeoutMs: 50 });
  systemd.jobResult = 'never';
  await assert.rejects(manager.create(name, resources), /did not finish the job/);
  systemd.isHung = true;
  await assert.rejects(manager.update(name, resources), /systemd: SetUnitProperties kubepods-burstable-poduid_1\.slice: No reply/);
});

test('after a restart of systemd the next call connects again; meanwhile calls and jobs fail', async (t) => {
  const { systemd, manager } = await aHost(t);
  await manager.create(name, resources);
  systemd.jobResult = 'never';
  const waiting = manager.create(['kubepods', 'burstable', 'poduid-2'], resources);
  while (!systemd.calls.some((call) => call === 'StartTransientUnit kubepods-burstable-poduid_2.slice')) await new Promise(setImmediate);
  await systemd.stop();
  await assert.rejects(waiting, /lost|closed/i);
  await assert.rejects(manager.update(name, resources), /failed to connect to dbus: .*private: connect/);
  await systemd.listen();
  await manager.update(name, resources);
});
