/** Trees as a hostile container could make them, measured by the helper's walk and compared with du(1). */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { defaultLimits, TreeWalk } from '../../../src/shared/tree-usage/tree-walk.ts';

const folder = mkdtempSync(join(tmpdir(), 'tree-walk-'));
// Node's rm fails for paths that are too long.
after(() => execFileSync('rm', ['-rf', folder]));

/** As many as a slice may be interrupted: after every batch of entries. */
const always = () => true;
const never = () => false;
const openHandles = () => readdirSync('/proc/self/fd').length;

function measure(path: string, limits = defaultLimits, isSliceOver = never) {
  const walk = new TreeWalk(path, limits);
  let slices = 1;
  while (!walk.run(isSliceOver)) slices += 1;
  walk.close();
  return { bytes: walk.bytes, inodes: walk.inodes, isIncomplete: walk.isIncomplete, slices };
}

function du(path: string) {
  const count = (...options: string[]) => Number.parseInt(execFileSync('du', ['-s', ...options, path], { encoding: 'utf8' }), 10);
  return { bytes: count('--block-size=1'), inodes: count('--inodes') };
}

function aTree(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

/** `levels` directories, each in the other, with a file in each. Their path is longer than the kernel allows. */
function makeDeep(path: string, levels: number): void {
  const script = `for (let i = 0; i < ${levels}; i += 1) { fs.mkdirSync('directory'); fs.writeFileSync('f', 'x'); process.chdir('directory'); }`;
  execFileSync(process.execPath, ['-e', script], { cwd: path });
}

suite('the measurement of a tree', () => {
  test('is silent in a worker, which did not open the directories with Node', async () => {
    const module = new URL('../../../src/shared/tree-usage/tree-walk.ts', import.meta.url).href;
    mkdirSync(join(aTree('walked-by-a-worker'), 'a/b'), { recursive: true });
    const script = `import { workerData, parentPort } from 'node:worker_threads';
      import { TreeWalk } from ${JSON.stringify(module)};
      const warnings = [];
      process.on('warning', ({ message }) => warnings.push(message));
      const walk = new TreeWalk(workerData);
      walk.run(() => false);
      walk.close();
      setImmediate(() => parentPort.postMessage({ inodes: walk.inodes, warnings }));`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
      workerData: join(folder, 'walked-by-a-worker'),
    });
    const [answer] = await once(worker, 'message');
    assert.deepEqual(answer, { inodes: 3, warnings: [] });
  });

  test('counts blocks and inodes as du does: hard links once, sparse files by their blocks, no targets of symlinks', () => {
    const tree = aTree('mixed');
    mkdirSync(join(tree, 'a/b/c'), { recursive: true });
    writeFileSync(join(tree, 'a/data'), Buffer.alloc(100_000, 'x'));
    linkSync(join(tree, 'a/data'), join(tree, 'a/b/same'));
    writeFileSync(join(tree, 'sparse'), '');
    truncateSync(join(tree, 'sparse'), 2 ** 33);
    symlinkSync('/', join(tree, 'root'));
    symlinkSync('..', join(tree, 'a/loop'));
    symlinkSync('nowhere', join(tree, 'a/dangling'));
    execFileSync('mkfifo', [join(tree, 'a/b/fifo')]);
    const { slices, ...usage } = measure(tree);
    assert.deepEqual(usage, { ...du(tree), isIncomplete: false });
    assert.equal(slices, 1);
  });

  test('continues after each slice, in directories with many files and with many subdirectories', () => {
    const tree = aTree('wide');
    for (let index = 0; index < 1000; index += 1) {
      mkdirSync(join(tree, `directory-${index}`));
      writeFileSync(join(tree, `directory-${index}/file`), 'x');
      writeFileSync(join(tree, `file-with-a-long-name-${index}`), 'x');
    }
    const { slices, ...usage } = measure(tree, defaultLimits, always);
    assert.deepEqual(usage, { ...du(tree), isIncomplete: false });
    assert.ok(slices > 40, String(slices));
  });

  test('needs few handles for a tree that is deeper than paths can be long', () => {
    const tree = aTree('deep');
    makeDeep(tree, 2000);
    const handles = openHandles();
    const walk = new TreeWalk(tree, { ...defaultLimits, maxHandles: 8 });
    let most = 0;
    while (!walk.run(always)) most = Math.max(most, openHandles());
    assert.deepEqual({ bytes: walk.bytes, inodes: walk.inodes }, du(tree));
    assert.equal(walk.isIncomplete, false);
    assert.ok(most <= handles + 8, `${most} handles`);
    assert.equal(openHandles(), handles);
  });

  test('is a lower bound of a tree that is too deep', () => {
    const { inodes, isIncomplete } = measure(join(folder, 'deep'), { ...defaultLimits, maxDepth: 100 });
    assert.deepEqual([inodes, isIncomplete], [1 + 2 * 100, true]);
  });

  test('ends as a lower bound when an upper directory is moved away', () => {
    const tree = aTree('moved');
    makeDeep(tree, 200);
    const outside = aTree('outside');
    for (let index = 0; index < 300; index += 1) writeFileSync(join(outside, `${index}`), 'x');
    const handles = openHandles();
    const walk = new TreeWalk(tree, { ...defaultLimits, maxHandles: 4 });
    while (walk.depth < 100) walk.run(always);
    renameSync(join(tree, 'directory/directory/directory'), join(outside, 'moved'));
    while (!walk.run(always));
    assert.equal(walk.isIncomplete, true);
    assert.ok(walk.inodes <= 401, String(walk.inodes));
    assert.equal(openHandles(), handles);
  });

  test('ends, without a lost handle, while a process moves directories all the time', async () => {
    const tree = aTree('shuffled');
    makeDeep(tree, 60);
    const script = `
      const dirs = (at) => { try { return fs.readdirSync(at, { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => at + '/' + e.name); } catch { return []; } };
      const some = (list) => list[Math.floor(Math.random() * list.length)];
      process.send('ready');
      for (let i = 0; ; i += 1) {
        const path = ['.'];
        for (let next = some(dirs('.')); next; next = some(dirs(next))) path.push(next);
        try { fs.renameSync(some(path), some(path) + '/m' + i); } catch {}
        try { fs.renameSync(some(path), './r' + i); } catch {}
      }`;
    const shuffler = spawn(process.execPath, ['--eval', script], { cwd: tree, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    try {
      await once(shuffler, 'message');
      const handles = openHandles();
      for (let count = 0; count < 200; count += 1) {
        const walk = new TreeWalk(tree, { ...defaultLimits, maxHandles: 4 });
        while (!walk.run(always)) await nextIteration();
        assert.equal(openHandles(), handles);
        // 121, some of them at several places. The trees beside this one have thousands.
        assert.ok(walk.inodes > 0 && walk.inodes < 1000, String(walk.inodes));
      }
    } finally {
      shuffler.kill('SIGKILL');
    }
  });

  test('does not follow a directory that became a symlink, and forgets what was removed', () => {
    const tree = aTree('swapped');
    // More than one batch of entries, so that the walk has not read the last ones yet.
    for (let index = 0; index < 500; index += 1) mkdirSync(join(tree, `d${index}`));
    const walk = new TreeWalk(tree);
    assert.equal(walk.run(always), false);
    for (let index = 0; index < 500; index += 1) {
      rmSync(join(tree, `d${index}`), { recursive: true });
      if (index % 2 === 0) symlinkSync('/usr', join(tree, `d${index}`));
    }
    while (!walk.run(always));
    assert.equal(walk.isIncomplete, false);
    assert.ok(walk.inodes <= 1000, String(walk.inodes));
  });

  test('leaves out what is mounted in the tree', () => {
    const tree = aTree('mounts');
    mkdirSync(join(tree, 'mounted'));
    execFileSync('mount', ['--bind', '/usr', join(tree, 'mounted')]);
    try {
      assert.equal(measure(tree).inodes, 1);
    } finally {
      execFileSync('umount', [join(tree, 'mounted')]);
    }
    assert.equal(measure(tree).inodes, 2);
  });

  test('shares out files among their links when there are too many of them', () => {
    const tree = aTree('links');
    for (let index = 0; index < 100; index += 1) {
      writeFileSync(join(tree, `a${index}`), 'x');
      linkSync(join(tree, `a${index}`), join(tree, `b${index}`));
      linkSync(join(tree, `a${index}`), join(tree, `c${index}`));
    }
    const { inodes, bytes } = measure(tree, { ...defaultLimits, maxHardLinks: 10 });
    assert.deepEqual({ inodes, bytes }, du(tree));
  });

  test('fails for a path that is missing, a file or a symlink', () => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('/usr', join(folder, 'link'));
    assert.throws(() => new TreeWalk(join(folder, 'nothing')), { code: 'ENOENT' });
    assert.throws(() => new TreeWalk(join(folder, 'file')), { code: 'ENOTDIR' });
    assert.throws(() => new TreeWalk(join(folder, 'link')), { code: /ENOTDIR|ELOOP/ });
  });
});
