/** The project files under concurrent changes and locks, and volumes on filesystems that do not count projects. The guest tests have one that does. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { addDirectory, projectsByDirectory } from '../../../src/shared/linux/project-files.ts';
import { flock, LockOperation } from '../../../src/shared/linux/native.ts';
import { changeProjectFiles, type ProjectFilePaths } from '../../../src/workers/pod-sync/pod/volumes/project-quota/change-project-files.ts';
import { ProjectQuotas } from '../../../src/workers/pod-sync/pod/volumes/project-quota/project-quotas.ts';
import { aLogger, silentLogger } from '../../support/logger.ts';
import { aPod } from '../../support/pods/pod-sync-samples.ts';

let folder: string;
let paths: ProjectFilePaths;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'project-quotas-'));
  paths = { projects: join(folder, 'projects'), projid: join(folder, 'projid') };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const add = (directory: string) => changeProjectFiles(paths, undefined, (files) => addDirectory(files, directory, () => false).files);
const directories = () => [...projectsByDirectory(readFileSync(paths.projects, 'utf8'))];

test('changes of several threads lose no line and give each directory a project of its own', async () => {
  const script = new URL('../../support/pods/add-projects.ts', import.meta.url);
  const ends = ['a', 'b', 'c', 'd'].map(
    (name) => new Promise((resolve) => new Worker(script, { workerData: { paths, name, count: 40 } }).on('exit', resolve)),
  );
  assert.deepEqual(await Promise.all(ends), [0, 0, 0, 0]);
  const found = directories();
  assert.equal(found.length, 160);
  assert.equal(new Set(found.map(([, id]) => id)).size, 160);
  assert.equal(readFileSync(paths.projid, 'utf8').split('\n').length, 161);
});

test('files keep their modes, and nothing else is left in their folder', async () => {
  writeFileSync(paths.projects, '42:/srv\n', { mode: 0o600 });
  await add('/pods/a');
  assert.deepEqual(directories().length, 2);
  assert.deepEqual([statSync(paths.projects).mode & 0o777, statSync(paths.projid).mode & 0o777], [0o600, 0o644]);
  assert.equal(existsSync(`${paths.projects}.kubelet`), false);
});

test('a lock of another process delays a change, and fails it at its deadline', async () => {
  const fd = openSync(paths.projects, 'w');
  flock(fd, LockOperation.exclusive);
  await assert.rejects(add('/pods/a'), /another process holds the lock/);
  const waiting = add('/pods/b');
  closeSync(fd);
  await waiting;
  assert.deepEqual(
    directories().map(([directory]) => directory),
    ['/pods/b'],
  );
});

test('a symlink in place of a file is not followed', async () => {
  symlinkSync(join(folder, 'target'), paths.projid);
  await assert.rejects(add('/pods/a'), { code: 'ELOOP' });
  assert.equal(existsSync(join(folder, 'target')), false);
});

test('a volume of a filesystem that does not count projects changes no file, and is logged once', async () => {
  const log = aLogger();
  const quotas = new ProjectQuotas({ enabled: true, logger: log.logger, paths });
  for (const name of ['a', 'b']) {
    mkdirSync(join('/dev/shm', `${process.pid}-${name}`));
    try {
      await quotas.assign(aPod({ hostUsers: false }), join('/dev/shm', `${process.pid}-${name}`), undefined);
    } finally {
      rmSync(join('/dev/shm', `${process.pid}-${name}`), { recursive: true });
    }
  }
  assert.equal(existsSync(paths.projects), false);
  assert.deepEqual(
    log.lines.map(({ msg }) => msg),
    ['The filesystem of volumes does not count projects: volumes are walked'],
  );
});

test('the lines of a pod are removed with its volumes, also when the gate is off', async () => {
  await add('/pods/a/volumes/v');
  await add('/pods/b/volumes/v');
  await new ProjectQuotas({ enabled: false, logger: silentLogger, paths }).release('/pods/a/volumes', undefined);
  assert.deepEqual(
    directories().map(([directory]) => directory),
    ['/pods/b/volumes/v'],
  );
});
