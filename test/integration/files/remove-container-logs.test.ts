import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { removeContainerLogs } from '../../../src/shared/container-logs/remove-container-logs.ts';

test("removing a container removes its log, its rotated logs and its link, and no other container's", async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'container-logs-'));
  t.after(() => rm(root, { recursive: true }));
  const folder = join(root, 'pods/default_web_uid/app');
  await mkdir(folder, { recursive: true });
  for (const name of ['0.log', '0.log.20260101-000000.gz', '1.log', '10.log']) await writeFile(join(folder, name), 'x');
  const link = join(root, 'web.log');
  await symlink(join(folder, '0.log'), link);

  // A folder does not keep the other logs.
  await mkdir(join(folder, '0.log.20260101-000001/full'), { recursive: true });

  await removeContainerLogs(join(root, 'pods'), join(folder, '0.log'), link);
  assert.deepEqual((await readdir(folder)).sort(), ['0.log.20260101-000001', '1.log', '10.log']);
  assert.deepEqual(await readdir(root), ['pods']);
  await removeContainerLogs(join(root, 'pods'), join(folder, '0.log'), link);

  await writeFile(join(root, 'secret'), 'x');
  await symlink(root, join(root, 'pods/linked'));
  await mkdir(join(root, 'secrets/app'), { recursive: true });
  await writeFile(join(root, 'secrets/app/0.log'), 'x');
  await symlink(join(root, 'secrets'), join(root, 'pods/default_web_linked'));
  for (const path of [
    join(root, 'pods/default_web_linked/app/0.log'),
    join(root, 'secret'),
    `${root}/pods/../secret`,
    join(root, 'pods/linked/secret'),
    '',
  ]) {
    await removeContainerLogs(join(root, 'pods'), path, link);
  }
  assert.ok((await readdir(root)).includes('secret'));
  assert.deepEqual(await readdir(join(root, 'secrets/app')), ['0.log']);
});
