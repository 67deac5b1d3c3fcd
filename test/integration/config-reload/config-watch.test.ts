/** The watch of the configuration's files, on real files. Changes are seen by inotify: no test waits for a scan. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigWatch } from '../../../src/main/config-reload/index.ts';
import { systemClock, type Clock } from '../../../src/shared/time/clock.ts';
import { silentLogger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

async function aWatch(t: TestContext, prepare: (folder: string) => { readonly file?: string; readonly dropInDir?: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'config-watch-'));
  const { file = '', dropInDir = '' } = prepare(folder);
  const seen = { changes: 0, events: 0 };
  const after: Clock['after'] = (ms, callback) => {
    // Each event that matters starts the wait for the end of a burst anew.
    seen.events += 1;
    return systemClock.after(ms, callback);
  };
  const watch = new ConfigWatch({
    paths: { file, dropInDir },
    onChange: () => (seen.changes += 1),
    clock: { ...systemClock, after },
    logger: silentLogger,
  });
  t.after(() => {
    watch.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await watch.start(Infinity);
  /** Waits until the changes so far are seen. */
  const until = async (what: string) => {
    await waitUntil(what, () => seen.changes > 0, 20_000);
    seen.changes = 0;
  };
  return { folder, seen, until, watch };
}

const aFile = (folder: string, name = 'kubelet.yaml') => {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'a: 1');
  return file;
};

test('a write, a rename over the file, its removal and its return are seen', async (t) => {
  const { folder, until } = await aWatch(t, (root) => ({ file: aFile(root) }));
  const file = join(folder, 'kubelet.yaml');
  writeFileSync(file, 'a: 2');
  await until('the write');
  for (const round of [1, 2]) {
    writeFileSync(join(folder, 'new'), `a: ${round}`);
    renameSync(join(folder, 'new'), file);
    await until(`rename ${round}`);
  }
  unlinkSync(file);
  await until('the removal');
  writeFileSync(file, 'a: 3');
  await until('the return');
});

test('a swapped ..data link is seen each time, as in the mount of a ConfigMap', async (t) => {
  const version = (root: string, name: string) => {
    aFile(root, `..${name}/kubelet.yaml`);
    symlinkSync(`..${name}`, join(root, '..tmp'));
    renameSync(join(root, '..tmp'), join(root, '..data'));
  };
  const { folder, until } = await aWatch(t, (root) => {
    version(root, '1');
    symlinkSync('..data/kubelet.yaml', join(root, 'kubelet.yaml'));
    return { file: join(root, 'kubelet.yaml') };
  });
  for (const name of ['2', '3']) {
    version(folder, name);
    await until(`version ${name}`);
  }
});

test('drop-ins are seen when they are added, changed and removed, also in a new subfolder', async (t) => {
  const { folder, until } = await aWatch(t, (root) => {
    mkdirSync(join(root, 'conf.d'));
    return { dropInDir: join(root, 'conf.d') };
  });
  const dropIn = join(folder, 'conf.d/10-a.conf');
  writeFileSync(dropIn, 'a: 1');
  await until('the new file');
  writeFileSync(dropIn, 'a: 2');
  await until('the change');
  mkdirSync(join(folder, 'conf.d/sub'));
  await until('the subfolder');
  writeFileSync(join(folder, 'conf.d/sub/20-b.conf'), 'a: 3');
  await until('the file in it');
  rmSync(dropIn);
  await until('the removal');
});

test('a folder that is removed and made again is watched again', async (t) => {
  const { folder, until } = await aWatch(t, (root) => ({ file: aFile(root, 'etc/kubelet.yaml') }));
  rmSync(join(folder, 'etc'), { recursive: true });
  await until('the removal');
  const file = aFile(folder, 'etc/kubelet.yaml');
  await until('the return');
  writeFileSync(file, 'a: 2');
  await until('a write in the new folder');
});

test('other files of the folder are ignored', async (t) => {
  const { folder, seen, until } = await aWatch(t, (root) => ({ file: aFile(root) }));
  for (let i = 0; i < 100; i += 1) writeFileSync(join(folder, 'other'), String(i));
  writeFileSync(join(folder, 'kubelet.yaml'), 'end');
  // Events come in order, so all others came before.
  await until('the change');
  assert.ok(seen.events < 10, `${seen.events} events`);
});

test('a change between the read at the start and the watch is seen', async (t) => {
  const { watch, seen } = await aWatch(t, (root) => ({ file: aFile(root) }));
  await watch.start(systemClock.now() - 3_600_000);
  assert.equal(seen.changes, 1);
  await watch.start(systemClock.now() + 3_600_000);
  assert.equal(seen.changes, 1);
});
