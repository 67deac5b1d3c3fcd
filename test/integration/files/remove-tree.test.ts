import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { blockingCalls, type DirectoryCalls, pooledCalls } from '../../../src/shared/linux/directory-calls.ts';
import { readMountsBelow } from '../../../src/shared/linux/mountinfo.ts';
import { mount, MountFlag, unmount } from '../../../src/shared/linux/native.ts';
import { removeTree } from '../../../src/shared/linux/remove-tree.ts';
import { makeDeepTree } from '../../support/deep-tree.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const kinds = { blockingCalls, pooledCalls };

/** The test removes `tree`; the sibling `canary` must survive. */
async function aFolder(t: TestContext) {
  const base = realpathSync(await mkdtemp(join(tmpdir(), 'remove-tree-')));
  t.after(async () => {
    for (const { mountPoint } of (await readMountsBelow(base)).reverse()) await unmount(mountPoint);
    await rm(base, { recursive: true });
  });
  const tree = join(base, 'tree');
  const canary = join(base, 'canary');
  mkdirSync(tree);
  mkdirSync(join(canary, 'folder'), { recursive: true });
  writeFileSync(join(canary, 'folder/file'), 'precious');
  const assertCanaryIntact = () => assert.equal(readFileSync(join(canary, 'folder/file'), 'utf8'), 'precious');
  return { tree, canary, assertCanaryIntact };
}

/** Returns the blocking calls, with a callback before each call of one kind. */
function before(call: keyof DirectoryCalls, callback: (path: string) => void): DirectoryCalls {
  return {
    ...blockingCalls,
    [call]: (...args: [string | Buffer, ...unknown[]]) => {
      callback(String(args[0]));
      return (blockingCalls[call] as (...args: unknown[]) => Promise<unknown>)(...args);
    },
  };
}

for (const [kind, calls] of Object.entries(kinds)) {
  test(`a tree deeper than any path is removed (${kind})`, async (t) => {
    const { tree } = await aFolder(t);
    makeDeepTree(tree, kind === 'blockingCalls' ? 10_000 : 3000);
    makeDeepTree(join(tree, 'long'), 40, 'n'.repeat(255));
    const handles = () => readdirSync('/proc/self/fd').length;
    const handlesBefore = handles();
    let [mostHandles, removals] = [0, 0];
    const counting: DirectoryCalls = {
      ...calls,
      rmdir: (path) => {
        if ((removals += 1) % 37 === 0) mostHandles = Math.max(mostHandles, handles());
        return calls.rmdir(path);
      },
    };
    await removeTree(tree, { calls: counting });
    assert.ok(!existsSync(tree));
    assert.ok(mostHandles - handlesBefore < 100, `${mostHandles - handlesBefore} handles`);
    assert.equal(handles(), handlesBefore);
  });

  test(`symlinks are removed but not followed, names may have any bytes, and a missing tree is a success (${kind})`, async (t) => {
    const { tree, canary, assertCanaryIntact } = await aFolder(t);
    symlinkSync(canary, join(tree, 'link'));
    mkdirSync(join(tree, 'below'));
    symlinkSync(join(canary, 'folder'), join(tree, 'below/link'));
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x0a, 0xfe])]), 'x');
    writeFileSync(join(tree, 'large'), Buffer.alloc(2 * 1024 * 1024));
    for (let n = 0; n < 1000; n += 1) writeFileSync(join(tree, `below/${n}`), '');
    await removeTree(tree, { calls });
    assert.ok(!existsSync(tree));
    assertCanaryIntact();
    await removeTree(tree, { calls });
    await removeTree(join(tree, 'not/there'), { calls });
    symlinkSync(canary, tree);
    await removeTree(tree, { calls });
    assert.throws(() => lstatSync(tree), { code: 'ENOENT' });
    assertCanaryIntact();
  });

  test(`nothing is removed from a mount below the tree, nor a file that is a mount point (${kind})`, async (t) => {
    const { tree, canary, assertCanaryIntact } = await aFolder(t);
    mkdirSync(join(tree, 'a/mount'), { recursive: true });
    await mount(canary, join(tree, 'a/mount'), '', MountFlag.bind, '');
    await assert.rejects(removeTree(tree, { calls }), /tree\/a\/mount/);
    assertCanaryIntact();
    await assert.rejects(removeTree(join(tree, 'a/mount'), { calls }), /tree\/a\/mount/);
    assertCanaryIntact();
    await unmount(join(tree, 'a/mount'));
    writeFileSync(join(tree, 'file'), '');
    await mount(join(canary, 'folder/file'), join(tree, 'file'), '', MountFlag.bind, '');
    await assert.rejects(removeTree(tree, { calls }), { code: 'EBUSY', message: /tree\/file/ });
    assertCanaryIntact();
    await unmount(join(tree, 'file'));
    await removeTree(tree, { calls });
    assert.ok(!existsSync(tree));
  });
}

test('a folder that is swapped for a symlink between two calls does not lead out of the tree', async (t) => {
  const { tree, canary, assertCanaryIntact } = await aFolder(t);
  mkdirSync(join(tree, 'victim/below'), { recursive: true });
  let swapped = false;
  const calls = before('openDirectory', (path) => {
    if (swapped || !path.endsWith('/victim')) return;
    swapped = true;
    renameSync(join(tree, 'victim'), join(tree, 'was'));
    symlinkSync(canary, join(tree, 'victim'));
  });
  await removeTree(tree, { calls });
  assert.ok(swapped);
  assert.ok(!existsSync(tree));
  assertCanaryIntact();
});

test('a mount that is added during the removal ends it, and is not removed', async (t) => {
  const { tree, canary, assertCanaryIntact } = await aFolder(t);
  mkdirSync(join(tree, 'late/below'), { recursive: true });
  let mounted: Promise<void> | undefined;
  const calls: DirectoryCalls = {
    ...blockingCalls,
    async openDirectory(path) {
      if (String(path).endsWith('/late')) await (mounted ??= mount(canary, join(tree, 'late'), '', MountFlag.bind, ''));
      return blockingCalls.openDirectory(path);
    },
  };
  await assert.rejects(removeTree(tree, { calls }), /late is on another mount: not removed/);
  assertCanaryIntact();
});

test('a folder that gets new files after each pass ends the removal with a retriable error', async (t) => {
  const { tree } = await aFolder(t);
  const busy = join(tree, 'busy');
  mkdirSync(busy);
  writeFileSync(join(busy, 'first'), '');
  let added = 0;
  const calls = before('rmdir', (path) => {
    if (path.endsWith('/busy')) writeFileSync(join(busy, `file-${(added += 1)}`), '');
  });
  await assert.rejects(removeTree(tree, { calls }), {
    code: 'ENOTEMPTY',
    message: /busy is not empty after 16 attempts: files are still being added/,
  });
  await removeTree(tree, { calls: blockingCalls });
  assert.ok(!existsSync(tree));
});

test('a tree that a process keeps writing is removed once the process has ended', async (t) => {
  const { tree } = await aFolder(t);
  // Uses `echo` instead of `:`, because a failed redirection of a special builtin ends the shell.
  const writer = spawn('sh', ['-c', 'i=0; while :; do i=$((i+1)); mkdir -p "d$((i%7))/e/$i" && echo > "d$((i%7))/$i"; done'], {
    cwd: tree,
    stdio: 'ignore',
  });
  const ended = once(writer, 'exit');
  t.after(() => writer.kill('SIGKILL'));
  await waitUntil('the process writes', () => existsSync(join(tree, 'd1')));
  // The removal may lose the race. It must end, and must not prevent the next attempt.
  await removeTree(tree, { calls: pooledCalls, signal: AbortSignal.timeout(10_000) }).catch((err: unknown) => {
    assert.match(String(err), /files are still being added|TimeoutError/);
  });
  assert.equal(writer.exitCode, null, 'the process still writes');
  writer.kill('SIGKILL');
  await ended;
  await removeTree(tree, { calls: pooledCalls });
  assert.ok(!existsSync(tree));
});

test('an interrupted removal keeps its progress, and the next one continues', async (t) => {
  const { tree } = await aFolder(t);
  makeDeepTree(tree, 200);
  const stop = new AbortController();
  let removed = 0;
  const calls = before('rmdir', () => {
    if ((removed += 1) === 100) stop.abort();
  });
  await assert.rejects(removeTree(tree, { calls, signal: stop.signal }), { name: 'AbortError' });
  assert.ok(readdirSync(tree).some((name) => name.startsWith('.removed-')));
  await removeTree(tree, { calls: blockingCalls });
  assert.ok(!existsSync(tree));
});

test('with foldersOnly, a file keeps its path at any depth', async (t) => {
  const { tree } = await aFolder(t);
  const deep = join(tree, 'd/'.repeat(50));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'data'), 'perhaps');
  await assert.rejects(
    removeTree(tree, { calls: blockingCalls, foldersOnly: true }),
    /data is a file where only mount points should be left/,
  );
  assert.equal(readFileSync(join(deep, 'data'), 'utf8'), 'perhaps');
});
