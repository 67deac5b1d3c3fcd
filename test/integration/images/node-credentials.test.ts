import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NodeCredentials } from '../../../src/workers/images/pulls/credentials/node-credentials.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

function aNode(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'node-credentials-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const dirs = { rootDir: join(folder, 'kubelet'), workingDir: join(folder, 'cwd'), homeDir: join(folder, 'home') };
  for (const dir of [dirs.rootDir, dirs.workingDir, join(dirs.homeDir, '.docker')]) mkdirSync(dir, { recursive: true });
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const credentials = new NodeCredentials({ ...dirs, clock, logger });
  return { ...dirs, clock, lines, users: async () => [...(await credentials.current()).values()].map(({ username }) => username) };
}
const config = (username: string) => JSON.stringify({ auths: { 'r.example': { username, password: 'p' } } });

test('the node’s registry credentials come from the first standard location with a config', async (t) => {
  const { homeDir, workingDir, users, clock } = aNode(t);
  writeFileSync(join(workingDir, '.dockercfg'), JSON.stringify({ 'r.example': { username: 'old', password: 'p' } }));
  writeFileSync(join(homeDir, '.docker/config.json'), config('home'));
  assert.deepEqual(await users(), ['home']);
  rmSync(join(homeDir, '.docker/config.json'));
  assert.deepEqual(await users(), ['home']);
  await clock.advance(5 * 60_000);
  assert.deepEqual(await users(), ['old']);
});

test('an unreadable file is skipped, and the log line contains none of its content', async (t) => {
  const { rootDir, homeDir, users, lines } = aNode(t);
  writeFileSync(join(rootDir, 'config.json'), 'geheim');
  writeFileSync(join(homeDir, '.docker/config.json'), config('home'));
  assert.deepEqual(await users(), ['home']);
  assert.deepEqual(
    lines.map(({ path, err }) => [path, err]),
    [[join(rootDir, 'config.json'), 'the registry credentials are not JSON']],
  );
});
