/** Mounts local volumes of folders and disks for pods, over restarts and failures. Needs root, loop devices and mkfs.ext4. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { LocalVolumeRequest } from '../../../src/shared/contracts/volumes.ts';
import { HelperClient } from '../../../src/shared/helper-client/index.ts';
import { parseMountInfo } from '../../../src/shared/linux/mountinfo.ts';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { systemClock as clock } from '../../../src/shared/time/clock.ts';
import { LocalVolumes } from '../../../src/workers/volumes/local/local-volumes.ts';
import { deviceMountPath, localTarget } from '../../../src/workers/volumes/local/local-paths.ts';
import { silentLogger as logger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const done = { outcome: 'done' } as const;
const helper = new HelperClient({ logger });
let rootDir: string;
let host: string;
let volumes: LocalVolumes;
const devices: string[] = [];

const mounts = () =>
  parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) => mountPoint.startsWith(`${rootDir}/`));
const start = () => new LocalVolumes({ rootDir, helper, onSlowGroupChange: () => {}, clock, logger });

function request(podUID: string, path: string, more: Partial<LocalVolumeRequest> = {}): LocalVolumeRequest {
  mkdirSync(join(rootDir, 'pods', podUID, 'volumes'), { recursive: true });
  const common = { specName: 'pv1', fsType: '', mountOptions: [], accessModes: ['ReadWriteOnce'], readOnly: false, fsGroup: null };
  return { podUID, path, ...common, ...more };
}
const target = (podUID: string, specName = 'pv1') => localTarget(rootDir, podUID, specName);
const end = (podUID: string, specName = 'pv1') => volumes.unpublish({ podUID, specName });

function folder(name: string): string {
  const path = join(host, name);
  mkdirSync(path);
  writeFileSync(join(path, 'f'), name);
  return path;
}

/** A loop device of 32 MiB. */
function disk(): string {
  const image = join(host, `disk-${devices.length}`);
  writeFileSync(image, '');
  truncateSync(image, 32 << 20);
  const device = execFileSync('losetup', ['-f', '--show', image], { encoding: 'utf8' }).trim();
  devices.push(device);
  return device;
}

beforeEach(() => {
  rootDir = realpathSync(mkdtempSync(join(tmpdir(), 'kn-local-')));
  host = join(rootDir, 'host');
  mkdirSync(host);
  volumes = start();
});
afterEach(() => {
  volumes.close();
  for (const { mountPoint } of mounts().toReversed()) execFileSync('umount', ['-l', mountPoint]);
  for (const device of devices.splice(0)) execFileSync('losetup', ['-d', device]);
  rmSync(rootDir, { recursive: true });
});
after(() => helper.close());

test('a folder, also behind a link, is mounted for each pod; its files stay at the end', async () => {
  const path = folder('data');
  symlinkSync(path, join(host, 'link'));
  assert.deepEqual(await volumes.publish(request('a', path)), done);
  assert.deepEqual(await volumes.publish(request('b', join(host, 'link'), { readOnly: true, mountOptions: ['noexec'] })), done);
  assert.equal(readFileSync(join(target('a'), 'f'), 'utf8'), 'data');
  assert.throws(() => writeFileSync(join(target('b'), 'g'), ''), { code: 'EROFS' });
  assert.ok(
    mounts()
      .find(({ mountPoint }) => mountPoint === target('b'))
      ?.options.includes('noexec'),
  );
  assert.deepEqual([await end('a'), await end('b'), await end('b')], [done, done, done]);
  assert.deepEqual(mounts(), []);
  assert.equal(existsSync(target('a')), false);
  assert.equal(readFileSync(join(path, 'f'), 'utf8'), 'data');
});

test('an empty disk is formatted once, and mounted on the node for its pods', async () => {
  const device = disk();
  const global = deviceMountPath(rootDir, 'pv1');
  assert.deepEqual(await Promise.all([volumes.publish(request('a', device)), volumes.publish(request('b', device))]), [done, done]);
  writeFileSync(join(target('a'), 'f'), 'kept');
  assert.equal(readFileSync(join(target('b'), 'f'), 'utf8'), 'kept');
  assert.equal(mounts().find(({ mountPoint }) => mountPoint === global)?.fsType, 'ext4');
  await end('a');
  await volumes.removeUnused();
  assert.deepEqual(
    mounts().map(({ mountPoint }) => mountPoint),
    [global, target('b')],
  );
  await end('b');
  await waitUntil('the disk is unmounted', () => mounts().length === 0 && !existsSync(global));
  assert.deepEqual(await volumes.publish(request('c', device, { readOnly: true })), done);
  assert.equal(readFileSync(join(target('c'), 'f'), 'utf8'), 'kept');
});

test('a disk with another filesystem, and a name that another disk has taken, are refused', async () => {
  const [first, second] = [disk(), disk()];
  execFileSync('mkfs.ext4', ['-q', first]);
  const wrong = await volumes.publish(request('a', first, { fsType: 'vfat' }));
  assert.equal(wrong.outcome, 'failed');
  const prefix = `local: failed to mount device ${first} at ${deviceMountPath(rootDir, 'pv1')} (fstype: vfat), error mount failed: exit status`;
  assert.ok(wrong.message.startsWith(`MountVolume.MountDevice failed for volume "pv1" : ${prefix}`), wrong.message);
  assert.ok(wrong.mismatch?.startsWith(`MountVolume failed for volume "pv1" ${prefix}`));
  assert.equal(existsSync(deviceMountPath(rootDir, 'pv1')), false);
  assert.equal(execFileSync('blkid', ['-p', '-s', 'TYPE', '-o', 'value', first], { encoding: 'utf8' }).trim(), 'ext4');
  assert.deepEqual(await volumes.publish(request('a', first)), done);
  const taken = await volumes.publish(request('b', second));
  assert.match(taken.outcome === 'failed' ? taken.message : '', /is already mounted to .* for another pod/);
  await end('a');
  assert.deepEqual(await volumes.publish(request('b', second)), done);
  assert.equal(mounts().find(({ mountPoint }) => mountPoint === target('b'))?.source, second);
});

test('a restart repeats nothing for what is mounted, also when the source is gone; flags that are missing are set', async () => {
  const path = folder('data');
  await volumes.publish(request('a', path));
  rmSync(path, { recursive: true });
  const mounted = mounts();
  volumes = start();
  assert.deepEqual(await volumes.publish(request('a', path)), done);
  assert.deepEqual(mounts(), mounted);
  assert.deepEqual(await volumes.publish(request('a', path, { readOnly: true })), done);
  assert.ok(mounts()[0]?.options.includes('ro'));
  assert.deepEqual(await end('a'), done);
  assert.deepEqual(mounts(), []);
});

test('a disk that a kubelet has left mounted without pods is unmounted by the next one', async () => {
  const device = disk();
  await volumes.publish(request('a', device));
  execFileSync('umount', [target('a')]);
  volumes = start();
  await volumes.removeUnused();
  assert.deepEqual(mounts(), []);
  assert.deepEqual(readdirSync(join(deviceMountPath(rootDir, 'pv1'), '..')), []);
});

test('the first pod gives the files its group; another group is a warning, and changes nothing', async () => {
  const path = folder('data');
  chownSync(join(path, 'f'), 0, 7);
  const groups = () => [statSync(path).gid, statSync(join(path, 'f')).gid];
  const fsGroup = (id: number, onlyOnRootMismatch = false) => ({ fsGroup: { fsGroup: id, onlyOnRootMismatch } });
  assert.deepEqual(await volumes.publish(request('ro', path, { ...fsGroup(2000), readOnly: true })), done);
  assert.deepEqual(groups(), [0, 7]);
  await end('ro');
  assert.deepEqual(await volumes.publish(request('a', path, fsGroup(2000))), done);
  assert.deepEqual(groups(), [2000, 2000]);
  assert.deepEqual(await volumes.publish(request('b', path, fsGroup(3000))), {
    outcome: 'done',
    warning: 'The requested fsGroup is 3000, but the volume pv1 has GID 2000. The volume may not be shareable.',
  });
  assert.deepEqual(groups(), [2000, 2000]);
  await Promise.all([end('a'), end('b')]);
  chownSync(join(path, 'f'), 0, 7);
  await volumes.publish(request('c', path, fsGroup(2000, true)));
  assert.deepEqual(groups(), [2000, 7]);
});

test('files that refuse the group do not keep the pod from its volume; a folder that cannot be read does', async () => {
  const path = folder('data');
  const below = join(path, 'below');
  mkdirSync(below);
  await mount('tmpfs', below, 'tmpfs', MountFlag.readOnly, '');
  const fsGroup = { fsGroup: 2000, onlyOnRootMismatch: false };
  assert.deepEqual(await volumes.publish(request('a', path, { fsGroup })), done);
  assert.deepEqual([statSync(join(path, 'f')).gid, statSync(below).gid], [2000, 0]);
  await end('a');
  await unmount(below);
  const server = await open('/dev/fuse', 'r+');
  await mount('dead', below, 'fuse', 0, `fd=${server.fd},rootmode=40000,user_id=0,group_id=0`);
  await server.close();
  const { outcome, message } = (await volumes.publish(request('b', path, { fsGroup }))) as { outcome: string; message: string };
  await unmount(below);
  assert.equal(outcome, 'failed');
  assert.match(message, /^MountVolume\.SetUp failed for volume "pv1" : \S*\/data\/below: ENOTCONN/);
});

test('a pod that ends while its volume is prepared gets nothing mounted, and ends at once', async () => {
  const path = folder('data');
  const walk = Promise.withResolvers<void>();
  const untilAborted = (signal: AbortSignal | undefined) => {
    walk.resolve();
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const slow = {
    call: ((operation: string, ...args: [never, { signal?: AbortSignal }?]) =>
      operation === 'changeOwnership'
        ? untilAborted(args[1]?.signal)
        : (helper.call as (...all: unknown[]) => Promise<unknown>)(operation, ...args)) as HelperClient['call'],
  };
  volumes = new LocalVolumes({ rootDir, helper: slow, onSlowGroupChange: () => {}, clock, logger });
  const publishing = volumes.publish(request('a', path, { fsGroup: { fsGroup: 2000, onlyOnRootMismatch: false } }));
  const waiting = volumes.publish(request('b', path));
  await walk.promise;
  // At the same time: the end of the first one lets the second one begin.
  assert.deepEqual(await Promise.all([end('a'), end('b')]), [done, done]);
  const ended = { outcome: 'failed', message: 'MountVolume.SetUp failed for volume "pv1" : the pod ends' };
  assert.deepEqual([await publishing, await waiting], [ended, ended]);
  assert.deepEqual(mounts(), []);
});

test('what is neither a folder nor a disk, or not there, is named', async () => {
  const path = folder('data');
  const failed = (why: string, operation = 'NewMounter initialization') => ({
    outcome: 'failed',
    message: `MountVolume.${operation} failed for volume "pv1" : ${why}`,
  });
  assert.deepEqual(await volumes.publish(request('a', join(host, 'none'))), failed(`path "${join(host, 'none')}" does not exist`));
  assert.deepEqual(await volumes.publish(request('a', join(path, 'f'))), failed('only directory and block device are supported'));
  assert.deepEqual(await volumes.publish(request('a', `${host}/../x`)), failed(`invalid path: ${host}/../x must not contain '..'`));
  const exclusive = { accessModes: ['ReadWriteOncePod'] };
  assert.deepEqual(await volumes.publish(request('a', path, exclusive)), done);
  assert.deepEqual(
    await volumes.publish(request('b', path, exclusive)),
    failed('volume uses the ReadWriteOncePod access mode and is already in use by another pod', 'SetUp'),
  );
  assert.equal((await volumes.publish(request('../x', path))).outcome, 'failed');
});
