import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { aLogRotation, isContiguous } from '../../support/runtime/log-rotation.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const rotatedName = /^0\.log\.\d{8}-\d{6}$/;
const archiveName = /^0\.log\.\d{8}-\d{6}\.gz$/;

test('a fast log is rotated again and again: old rotations are compressed, the oldest are removed, and no line is lost', async (t) => {
  const node = await aLogRotation(t);
  const { files, readLines, folder } = await node.run('fast', { every: '1ms', batch: 20 });
  node.start();
  const first = await waitUntil('the first rotation', () => files().find((name) => rotatedName.test(name)));
  // The first rotation is removed: five files are full.
  await waitUntil('the first rotation is removed', () => !files().some((name) => name.startsWith(first)));
  await waitUntil('the older rotations are compressed', () => files().filter((name) => archiveName.test(name)).length >= 2);
  await node.stop();
  const names = files();
  assert.equal(names.filter((name) => rotatedName.test(name) || archiveName.test(name)).length, 4, names.join());
  assert.ok(rotatedName.test(names.findLast((name) => name !== '0.log')!), 'the newest rotation is not compressed');
  assert.ok(names.filter((name) => archiveName.test(name)).length >= 2, names.join());
  assert.equal(
    statSync(
      join(
        folder,
        names.find((name) => archiveName.test(name))!,
      ),
    ).mode & 0o777,
    0o640,
  );
  assert.ok(isContiguous(readLines()));
});

test('logs below the limit, logs of ended containers and empty logs stay', async (t) => {
  const node = await aLogRotation(t, { policy: { maxSizeBytes: 0 } });
  const empty = await node.run('empty', { count: 0 });
  const ended = await node.run('ended', { count: 500 });
  await node.control.exitContainer(ended.id, 0);
  await node.runWithoutLog();
  const other = await node.run('other', { count: 1 });
  node.start();
  await waitUntil('the other log is rotated', () => other.files().length === 2);
  assert.equal(
    (await node.control.calls('ReopenContainerLog')).every(({ code }) => code === 0),
    true,
  );
  assert.deepEqual([empty.files(), ended.files()], [['0.log'], ['0.log']]);
  assert.deepEqual(
    node.lines.filter(({ level }) => level >= 40),
    [],
  );
});

test('a log keeps its name when the runtime does not reopen it, and is rotated when it does', async (t) => {
  const node = await aLogRotation(t);
  const { files, readLines, id } = await node.run('app', { every: '5ms', count: 500 });
  const other = await node.run('other', { count: 500 });
  const fault = await node.control.fault({ call: 'ReopenContainerLog', id, kind: 'fail', message: 'no space left' } as never);
  node.start();
  await waitUntil(
    'three attempts',
    async () => (await node.control.calls('ReopenContainerLog')).filter(({ code }) => code !== 0).length > 3,
  );
  await waitUntil('the other container’s log is rotated', () => other.files().length === 2);
  await waitUntil('the log has its name', () => files().join() === '0.log');
  const before = readLines();
  assert.ok(before.length >= 500 && isContiguous(before));
  assert.equal(node.lines.filter(({ msg }) => msg === 'Failed to rotate log for container').length, 1);
  await node.control.clearFaults(fault);
  await waitUntil('the log is rotated', () => files().length === 2);
  assert.ok(isContiguous(readLines()));
});

test('a log that the runtime reopens although it reports a failure loses no line', async (t) => {
  const node = await aLogRotation(t);
  const { files, readLines } = await node.run('app', { every: '2ms', batch: 5, count: 500 });
  await node.control.fault({ call: 'ReopenContainerLog', kind: 'failAfter', times: 2 });
  node.start();
  await waitUntil('three rotations', () => files().length === 4, 20_000);
  await node.stop();
  const numbers = readLines();
  assert.equal(numbers[0], 1);
  assert.ok(isContiguous(numbers));
});

test('a runtime that does not answer for one container delays no other, and its log gets its name back', async (t) => {
  const node = await aLogRotation(t, { runtimeRequestTimeoutMs: 500 });
  const hanging = await node.run('hanging', { count: 500 });
  await node.control.fault({ call: 'ReopenContainerLog', id: hanging.id, kind: 'hang' });
  node.start();
  await waitUntil('the reopening hangs', async () => (await node.control.counters())['ReopenContainerLog']?.inFlight === 1);
  const other = await node.run('other', { count: 500 });
  await waitUntil('the other log is rotated', () => other.files().length === 2);
  await waitUntil('the log has its name back', () => hanging.files().join() === '0.log');
  assert.equal(hanging.readLines().length, 500);
});

test('a kubelet continues what its predecessor did not finish', async (t) => {
  const node = await aLogRotation(t);
  const app = await node.run('app', { every: '5ms', count: 500 });
  // It ended before the runtime reopened the log, and while it compressed an older one.
  renameSync(app.logPath, `${app.logPath}.20260101-000003`);
  writeFileSync(`${app.logPath}.20260101-000002`, 'old\n');
  writeFileSync(`${app.logPath}.20260101-000002.tmp`, 'half an archive');
  // It ended between the last two steps of a compression.
  writeFileSync(`${app.logPath}.20260101-000001`, 'oldest\n');
  writeFileSync(`${app.logPath}.20260101-000001.gz`, gzipSync('oldest\n'));
  node.start();
  await waitUntil('the log exists again', () => app.files().includes('0.log'));
  await waitUntil('the rest is compressed', () => app.files().filter((name) => archiveName.test(name)).length === 3, 20_000);
  await node.stop();
  const names = app.files();
  assert.deepEqual(names.slice(1, 4), ['0.log.20260101-000001.gz', '0.log.20260101-000002.gz', '0.log.20260101-000003.gz']);
  assert.deepEqual([names.length, rotatedName.test(names[4]!)], [5, true]);
  assert.ok(isContiguous(app.readLines()));
});

test('a kubelet that is killed at any moment loses and repeats no line', async (t) => {
  const node = await aLogRotation(t);
  const app = await node.run('app', { every: '1ms', batch: 10 });
  const script = join(import.meta.dirname, '../../support/runtime/log-rotation-process.ts');
  const hasArchive = () => app.files().some((name) => archiveName.test(name));
  // Later kubelets live longer, because on a busy machine the first ones have rotated nothing.
  for (let kills = 0; kills < 8 || !hasArchive(); kills += 1) {
    const kubelet = fork(script, [node.endpoint, node.podLogsDir, app.id]);
    await once(kubelet, 'message');
    await sleep(20 + ((kills * 53) % 200) * Math.ceil((kills + 1) / 8));
    kubelet.kill('SIGKILL');
    await once(kubelet, 'exit');
  }
  const last = fork(script, [node.endpoint, node.podLogsDir, app.id]);
  await once(last, 'message');
  const filesBefore = app.files().length;
  await waitUntil('it has rotated the log, too', () => app.files().length > filesBefore + 1);
  await node.control.exitContainer(app.id, 0);
  const isComplete = (names: readonly string[]) => names.includes('0.log') && names.filter((name) => rotatedName.test(name)).length === 1;
  await waitUntil('it has completed the archives', () => isComplete(app.files()), 20_000);
  last.kill('SIGKILL');
  await once(last, 'exit');
  const numbers = app.readLines();
  assert.equal(numbers[0], 1);
  assert.ok(isContiguous(numbers));
});

test('a rename that was undone halfway is completed', async (t) => {
  const node = await aLogRotation(t);
  const app = await node.run('app', { count: 500 });
  linkSync(app.logPath, `${app.logPath}.20260101-000001`);
  node.start();
  const isDone = ([log, rotated]: string[]) => log === '0.log' && rotated !== undefined && !rotated.includes('20260101');
  await waitUntil('a rotation', () => isDone(app.files()));
  assert.equal(app.files().length, 2);
  assert.equal(app.readLines().length, 500);
});

test('folders, symlinks and foreign files with names of logs stay and stop nothing', async (t) => {
  const node = await aLogRotation(t, { policy: { maxFiles: 2 } });
  const app = await node.run('app', { every: '1ms', batch: 20 });
  const secret = join(node.podLogsDir, 'secret');
  writeFileSync(secret, 'secret');
  mkdirSync(`${app.logPath}.20260101-000001/full`, { recursive: true });
  symlinkSync(secret, `${app.logPath}.20260101-000002`);
  symlinkSync(secret, `${app.logPath}.20260101-000003.tmp`);
  mkdirSync(`${app.logPath}.20260101-000004.gz`);
  writeFileSync(`${app.logPath}.bak`, 'mine');
  node.start();
  const first = await waitUntil('a rotation', () => app.files().find((name) => rotatedName.test(name) && !name.includes('20260101')));
  await waitUntil('the next one', () => !app.files().includes(first));
  assert.equal(readFileSync(secret, 'utf8'), 'secret');
  assert.deepEqual(
    app.files().filter((name) => name.includes('20260101') || name.endsWith('bak')),
    ['0.log.20260101-000001', '0.log.20260101-000002', '0.log.20260101-000003.tmp', '0.log.20260101-000004.gz', '0.log.bak'],
  );
  assert.deepEqual(
    node.lines.filter(({ level }) => level >= 40),
    [],
  );
});

test('a log that is a symlink, or in a folder that leads elsewhere, is not touched', async (t) => {
  const node = await aLogRotation(t);
  const linked = await node.run('linked', { count: 500 });
  const host = join(node.podLogsDir, '..', `host-${process.pid}`);
  mkdirSync(host);
  t.after(() => rmSync(host, { recursive: true }));
  writeFileSync(join(host, '0.log'), 'x'.repeat(100_000));
  writeFileSync(join(host, '0.log.20260101-000001'), 'x');
  rmSync(linked.logPath);
  symlinkSync(join(host, '0.log'), linked.logPath);
  const moved = await node.run('moved', { count: 500 });
  rmSync(moved.folder, { recursive: true });
  symlinkSync(host, moved.folder);
  node.start();
  const failures = () => node.lines.filter(({ msg }) => msg === 'Failed to rotate log for container');
  await waitUntil('both are reported', () => failures().length === 2);
  assert.match(JSON.stringify(failures()), /not a regular file.*not in a folder below|not in a folder below.*not a regular file/);
  assert.deepEqual(readdirSync(host).sort(), ['0.log', '0.log.20260101-000001']);
  assert.ok(lstatSync(linked.logPath).isSymbolicLink());
});

test('a full disk costs no line: logs are rotated, and compressed when there is space again', async (t) => {
  const node = await aLogRotation(t, { tmpfsBytes: 1024 * 1024 });
  const app = await node.run('app', { count: 500 });
  writeFileSync(`${app.logPath}.20260101-000001`, '2026-01-01T00:00:00Z stdout F old\n'.repeat(1000));
  const { bavail, bsize } = statfsSync(node.podLogsDir);
  const filler = join(node.podLogsDir, 'filler');
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
  node.start();
  await waitUntil('a rotation', () => app.files().length === 3);
  await waitUntil('the compression fails', () => node.lines.some(({ msg }) => msg.startsWith('Failed to compress log')));
  assert.deepEqual(
    app.files().map((name) => name.replace(/\d{8}-\d{6}/, 'N')),
    ['0.log', '0.log.N', '0.log.N'],
  );
  assert.equal(app.readLines().length, 500);
  rmSync(filler);
  writeFileSync(app.logPath, '2026-01-01T00:00:00Z stdout F more\n'.repeat(1000));
  await waitUntil('both are compressed', () => app.files().filter((name) => archiveName.test(name)).length === 2);
  assert.equal(app.readLines().length, 500);
});

test('rotations keep their order when the clock goes back', async (t) => {
  let offsetMs = 0;
  const node = await aLogRotation(t, { clock: { now: () => Date.now() + offsetMs } });
  const app = await node.run('app', { every: '1ms', batch: 20 });
  node.start();
  const first = await waitUntil('a rotation', () => app.files().find((name) => rotatedName.test(name)));
  offsetMs = -3_600_000;
  await waitUntil('three more', () => app.files().length >= 5);
  await node.stop();
  assert.ok(app.files()[1]!.startsWith(first), 'the first rotation is the oldest');
  assert.ok(isContiguous(app.readLines()));
});

test('a container that suddenly writes fast is noticed before the next regular check, and then checked each second', async (t) => {
  const node = await aLogRotation(t, { policy: { monitorIntervalMs: 3_600_000 }, tmpfsBytes: 512 * 1024 * 1024 });
  const app = await node.run('app', { every: '2ms', batch: 20 });
  node.start();
  await waitUntil('the first rotation', () => app.files().length === 2);
  // Nothing else causes a check of this log within the hour.
  const late = await node.run('late', { count: 500 });
  writeFileSync(join(node.podLogsDir, 'grown'), Buffer.alloc(100 * 1024 * 1024));
  await waitUntil('its log is rotated', () => late.files().length === 2);
  await waitUntil('the fast log is rotated again', () => app.files().length > 3, 20_000);
  assert.ok(isContiguous(app.readLines()));
});

test('the compression of a log ends when a rotation removes the log', async (t) => {
  const node = await aLogRotation(t, { policy: { maxFiles: 3 } });
  const app = await node.run('app', { every: '5ms', batch: 20 });
  // A fast writer's: it takes minutes to compress.
  const large = `${app.logPath}.20260101-000001`;
  writeFileSync(large, '');
  truncateSync(large, 20 * 1024 ** 3);
  node.start();
  await waitUntil('the compression starts', () => app.files().includes('0.log.20260101-000001.tmp'));
  await waitUntil('the large log and its archive are gone', () => !app.files().some((name) => name.includes('20260101')), 20_000);
  await waitUntil('another log is compressed', () => app.files().some((name) => archiveName.test(name)), 20_000);
});
