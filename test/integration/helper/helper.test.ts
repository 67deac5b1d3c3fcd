/** Runs real helper processes as root: their operations, and the handling of a process that hangs. */
import assert from 'node:assert/strict';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { mount } from '../../../src/shared/linux/native.ts';
import { HelperClient } from '../../../src/shared/helper-client/index.ts';
import { aLogger } from '../../support/logger.ts';

const { logger } = aLogger();
const helper = new HelperClient({ logger });
let root: string;

before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'helper-')));
});
after(async () => {
  for (const { mountPoint } of await readMountsBelow(root)) await helper.call('unmount', { target: mountPoint, force: false });
  await helper.close();
  await rm(root, { recursive: true, force: true });
});

test('each hostPath type is checked, and created if the type allows it', async () => {
  const check = async (name: string, type: string) => (await helper.call('checkHostPath', { path: join(root, name), type })).failure;
  const missing = (noun: string) =>
    `hostPath type check failed, ${root}/nothing is not a ${noun}, unable to determine its type: path "${root}/nothing" does not exist`;
  assert.equal(await check('made/deep', 'DirectoryOrCreate'), null);
  assert.equal(await check('made/deep', 'Directory'), null);
  assert.equal(await check('made/file', 'FileOrCreate'), null);
  assert.equal(await check('made/file', 'File'), null);
  assert.equal(await check('made/file', 'Directory'), `hostPath type check failed: ${root}/made/file is not a directory, it's a File`);
  assert.equal(
    await check('made/file', 'DirectoryOrCreate'),
    `hostPath type check failed: ${root}/made/file is not a directory, it's a File`,
  );
  assert.equal(await check('nothing', 'File'), missing('file'));
  assert.equal(await check('nothing', 'Socket'), missing('socket file'));
  assert.equal(await check('nothing', 'CharDevice'), missing('character device'));
  assert.equal(await check('nothing', 'BlockDevice'), missing('block device'));
  assert.equal((await helper.call('checkHostPath', { path: '/dev/null', type: 'CharDevice' })).failure, null);
  assert.equal(await check('nothing', 'constructor'), 'constructor is an invalid volume type');
  await assert.rejects(check('no/parent', 'FileOrCreate'), { code: 'ENOENT' });
});

test('mounting and unmounting a filesystem is idempotent', async () => {
  const target = join(root, 'memory');
  await mkdir(target);
  const request = { target, fsType: 'tmpfs', source: 'tmpfs', options: 'size=1048576' } as const;
  await helper.call('mountFilesystem', request);
  await helper.call('mountFilesystem', request);
  const mounts = await readMountsBelow(target);
  assert.equal(mounts.length, 1);
  assert.ok(mounts[0]?.superOptions.includes('size=1024k'));
  assert.equal((await helper.call('statfs', { path: target })).capacityBytes, 1048576);
  await helper.call('unmount', { target, force: false });
  await helper.call('unmount', { target, force: false });
  assert.deepEqual(await readMountsBelow(target), []);
  await assert.rejects(helper.call('mountFilesystem', { ...request, options: 'size=nonsense' }), { code: 'EINVAL' });
});

test('a subPath is created with the mode of the volume and mounted once', async () => {
  const volumePath = join(root, 'volume');
  const target = join(root, 'subpaths/volume/app/0');
  await mkdir(volumePath);
  await chmod(volumePath, 0o2775);
  for (let times = 0; times < 2; times += 1) await helper.call('bindSubpath', { volumePath, subPath: 'a/b', target, create: true });
  assert.equal((await stat(join(volumePath, 'a'))).mode & 0o7777, 0o2775);
  await writeFile(join(volumePath, 'a/b/seen'), 'yes');
  assert.deepEqual(await readdir(target), ['seen']);
  assert.equal((await readMountsBelow(target)).length, 1);
});

test('a subPath that may appear later is an empty folder outside of the volume, then the file', async () => {
  const volumePath = join(root, 'optional');
  const target = join(root, 'subpaths/optional/app/0');
  await mkdir(volumePath);
  await chown(volumePath, 0, 3000);
  await chmod(volumePath, 0o2775);
  const request = { volumePath, subPath: 'a', target, create: false };
  for (let times = 0; times < 2; times += 1) await helper.call('bindSubpath', request);
  const { mode, gid } = await stat(target);
  assert.deepEqual([mode & 0o7777, gid], [0o2775, 3000]);
  assert.deepEqual(await readdir(volumePath), []);
  await writeFile(join(volumePath, 'a'), 'content');
  await helper.call('bindSubpath', request);
  assert.equal(await readFile(target, 'utf8'), 'content');
  await rm(join(volumePath, 'a'));
  await helper.call('bindSubpath', request);
  assert.deepEqual(await readdir(target), []);
  assert.deepEqual(await readMountsBelow(target), []);
});

test('a subPath that was replaced is mounted again, also when it is a file now', async () => {
  const volumePath = join(root, 'changing');
  const target = join(root, 'subpaths/changing/app/0');
  await mkdir(join(volumePath, 'x'), { recursive: true });
  await helper.call('bindSubpath', { volumePath, subPath: 'x', target, create: true });
  await rename(join(volumePath, 'x'), join(volumePath, 'old'));
  await writeFile(join(volumePath, 'x'), 'a file now');
  await helper.call('bindSubpath', { volumePath, subPath: 'x', target, create: true });
  assert.equal(await readFile(target, 'utf8'), 'a file now');
  assert.equal((await readMountsBelow(target)).length, 1);
});

test('a subPath whose replaced mount is in use is mounted again', async () => {
  const volumePath = join(root, 'busy');
  const target = join(root, 'subpaths/busy/app/0');
  await mkdir(join(volumePath, 'x'), { recursive: true });
  await writeFile(join(volumePath, 'x/open'), '');
  await helper.call('bindSubpath', { volumePath, subPath: 'x', target, create: true });
  const user = await open(join(target, 'open'));
  await rename(join(volumePath, 'x'), join(volumePath, 'old'));
  await helper.call('bindSubpath', { volumePath, subPath: 'x', target, create: true });
  await user.close();
  assert.deepEqual(await readdir(target), []);
  assert.equal((await readMountsBelow(target)).length, 1);
});

test('a subPath whose mount has lost its filesystem is mounted again', async () => {
  const volumePath = join(root, 'recovered');
  const target = join(root, 'subpaths/recovered/app/0');
  await mkdir(join(volumePath, 'x'), { recursive: true });
  await mkdir(target, { recursive: true });
  const server = await open('/dev/fuse', 'r+');
  await mount('dead', target, 'fuse', 0, `fd=${server.fd},rootmode=40000,user_id=0,group_id=0`);
  await server.close();
  await assert.rejects(lstat(target), { code: 'ENOTCONN' });
  await helper.call('bindSubpath', { volumePath, subPath: 'x', target, create: true });
  assert.equal((await readMountsBelow(target)).length, 1);
  await writeFile(join(target, 'seen'), '');
  assert.deepEqual(await readdir(join(volumePath, 'x')), ['seen']);
});

test('a symlink within the volume is followed, and one that leads out of it is rejected', async () => {
  const volumePath = join(root, 'linked');
  await mkdir(join(volumePath, 'real'), { recursive: true });
  await symlink('real', join(volumePath, 'inside'));
  await symlink('/etc', join(volumePath, 'outside'));
  await symlink('../..', join(volumePath, 'real/above'));
  await helper.call('bindSubpath', { volumePath, subPath: 'inside', target: join(root, 'subpaths/linked/app/0'), create: true });
  for (const subPath of ['outside', 'outside/made', 'inside/above']) {
    const target = join(root, 'subpaths/linked/app/9');
    await assert.rejects(
      helper.call('bindSubpath', { volumePath, subPath, target, create: true }),
      /not within volume path|outside of allowed base|resolving symlinks/,
    );
    assert.deepEqual(await readMountsBelow(target), []);
  }
  await assert.rejects(lstat('/etc/made'));
});

test('a folder that is swapped for a symlink during the mount never leads out of the volume', async () => {
  const volumePath = join(root, 'raced');
  await mkdir(join(volumePath, 'a/b'), { recursive: true });
  await symlink('/etc', join(volumePath, 'evil'));
  const race = { on: true };
  const attacker = (async () => {
    while (race.on) {
      try {
        await rename(join(volumePath, 'a'), join(volumePath, 'aside'));
        await rename(join(volumePath, 'evil'), join(volumePath, 'a'));
        await rename(join(volumePath, 'a'), join(volumePath, 'evil'));
        await rename(join(volumePath, 'aside'), join(volumePath, 'a'));
      } catch {
        // The helper has created the folder while it was renamed.
        for (const name of ['a', 'aside']) await rm(join(volumePath, name), { recursive: true, force: true }).catch(() => {});
        await mkdir(join(volumePath, 'a/b'), { recursive: true }).catch(() => {});
        await symlink('/etc', join(volumePath, 'evil')).catch(() => {});
      }
    }
  })();
  for (let round = 0; round < 60; round += 1) {
    const target = join(root, `subpaths/raced/app/${round}`);
    // /etc has no `b`: following the symlink would create one.
    await helper.call('bindSubpath', { volumePath, subPath: 'a/b', target, create: true }).catch(() => {});
    const [mount] = await readMountsBelow(target);
    if (!mount) continue;
    assert.doesNotMatch(mount.root, /\/etc/);
    await helper.call('unmount', { target, force: false });
  }
  race.on = false;
  await attacker;
  await assert.rejects(lstat('/etc/b'));
});

test("the group of a volume's tree is changed without following symlinks", async () => {
  const path = join(root, 'owned');
  await mkdir(join(path, 'sub'), { recursive: true });
  await writeFile(join(path, 'sub/file'), '');
  await chmod(join(path, 'sub/file'), 0o600);
  const outside = join(root, 'not-owned');
  await writeFile(outside, '');
  await chmod(outside, 0o600);
  await symlink(outside, join(path, 'link'));
  assert.deepEqual(await helper.call('changeOwnership', { path, fsGroup: 4242, readOnly: false, onlyOnRootMismatch: false }), {
    failures: 0,
    firstFailure: null,
    unreadable: null,
  });
  const file = await stat(join(path, 'sub/file'));
  assert.deepEqual([file.gid, file.mode & 0o7777], [4242, 0o660]);
  assert.deepEqual([(await stat(path)).gid, (await stat(path)).mode & 0o2070], [4242, 0o2070]);
  assert.deepEqual([(await stat(outside)).gid, (await stat(outside)).mode & 0o777], [0, 0o600]);
  assert.equal((await lstat(join(path, 'link'))).gid, 4242);
});

test('a canceled walk stops before the root of its tree has the group', async () => {
  const path = join(root, 'many');
  await mkdir(path);
  await Promise.all(Array.from({ length: 2000 }, (_, index) => writeFile(join(path, String(index)), '')));
  const stop = new AbortController();
  const walk = { path, fsGroup: 4242, readOnly: false, onlyOnRootMismatch: false };
  const canceled = assert.rejects(helper.call('changeOwnership', walk, { signal: stop.signal }), { message: 'canceled' });
  stop.abort(new Error('not awaited'));
  await canceled;
  assert.equal((await stat(path)).gid, 0);
});

test('an operation that advances keeps its deadline away; one that stands still misses it', async (t) => {
  const advancing = join(root, 'advancing.mjs');
  const code = `
    let files = 0;
    process.on('message', ({ id, request: { path } }) => {
      const step = () => {
        if (files < 15 || path === '/endless') process.send({ id, files: path === '/endless' ? 1 : (files += 1) });
        else process.send({ id, reply: { failures: 0, firstFailure: null, unreadable: null } });
      };
      setInterval(step, 100);
    });
    process.on('disconnect', () => process.exit());`;
  await writeFile(advancing, code);
  const client = new HelperClient({ logger, entry: pathToFileURL(advancing) });
  t.after(() => client.close());
  const counts: number[] = [];
  const walk = (path: string) => ({ path, fsGroup: 1, readOnly: false, onlyOnRootMismatch: false });
  await client.call('changeOwnership', walk('/v'), { deadlineMs: 1000, onProgress: (files) => counts.push(files) });
  assert.deepEqual(counts.at(-1), 15);
  await assert.rejects(client.call('changeOwnership', walk('/endless'), { deadlineMs: 500 }), { code: 'ETIMEDOUT' });
});

test('only a regular file of limited size within the volume is read', async () => {
  const volumePath = join(root, 'files');
  await mkdir(volumePath);
  await writeFile(join(volumePath, 'env'), "A='1'");
  await symlink('/etc/passwd', join(volumePath, 'passwd'));
  const read = (path: string, maxBytes = 100) => helper.call('readFile', { volumePath, path, maxBytes });
  assert.equal((await read('env')).content, "A='1'");
  assert.equal((await read('env', 2)).content, null);
  await assert.rejects(read('passwd'), /not within volume path/);
  await assert.rejects(read('.'), /is not a file/);
});

test('after a missed deadline the request fails with its path, and the helper is replaced and killed', async () => {
  const { logger, lines } = aLogger();
  const client = new HelperClient({ logger });
  await client.call('statfs', { path: root });
  const hungPid = client.pid as number;
  process.kill(hungPid, 'SIGSTOP');
  await assert.rejects(client.call('checkHostPath', { path: '/mnt/dead-nfs', type: 'Directory' }, { deadlineMs: 200 }), {
    code: 'ETIMEDOUT',
    message: 'checkHostPath of /mnt/dead-nfs: no answer within 200 ms, the filesystem may hang',
  });
  assert.equal((await client.call('checkHostPath', { path: root, type: 'Directory' })).failure, null);
  assert.notEqual(client.pid, hungPid);
  await client.close();
  assert.throws(() => process.kill(hungPid, 0), { code: 'ESRCH' });
  assert.ok(lines.some(({ path }) => path === '/mnt/dead-nfs'));
});

test('the death of a helper fails its pending requests, and the next request starts a new helper', async () => {
  const client = new HelperClient({ logger });
  await client.call('statfs', { path: root });
  const firstPid = client.pid as number;
  process.kill(firstPid, 'SIGSTOP');
  const pending = assert.rejects(client.call('statfs', { path: root }), { code: 'EPIPE' });
  process.kill(firstPid, 'SIGKILL');
  await pending;
  assert.ok((await client.call('statfs', { path: root })).capacityBytes > 0);
  await client.close();
});

test('an aborted request rejects at once, and a closed client rejects requests', async () => {
  const client = new HelperClient({ logger });
  await client.call('statfs', { path: root });
  process.kill(client.pid as number, 'SIGSTOP');
  const stop = new AbortController();
  const stopped = assert.rejects(client.call('statfs', { path: root }, { signal: stop.signal }), /aborted by the test/);
  stop.abort(new Error('aborted by the test'));
  await stopped;
  await client.close();
  await assert.rejects(client.call('statfs', { path: root }), /closed/);
});

test('a helper that cannot be started fails its request at once, and the next request tries again', async (t) => {
  const client = new HelperClient({ logger });
  t.after(() => client.close());
  const { execPath } = process;
  process.execPath = join(root, 'no-such-program');
  try {
    for (let tries = 0; tries < 10; tries += 1) await assert.rejects(client.call('statfs', { path: root }), /helper process|spawn/);
  } finally {
    process.execPath = execPath;
  }
  assert.ok((await client.call('statfs', { path: root })).capacityBytes > 0);
});
