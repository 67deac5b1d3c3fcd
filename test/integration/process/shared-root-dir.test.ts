/** The root folder as a shared mount, in mount namespaces whose mounts are private. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

const source = new URL('../../../src/main/process/root-dir.ts', import.meta.url).pathname;

/** Returns the problem, and the mounts of the folder while it is in use and afterwards. */
function ensureIn(t: TestContext, setpriv: readonly string[]): { problem: string | null; during: string[]; after: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'root-dir-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const script = `
    const { readFileSync } = await import('node:fs');
    const [source, folder] = process.argv.slice(1);
    const { ensureRootDir } = await import(source);
    const mounts = () => readFileSync('/proc/self/mountinfo', 'utf8').split('\\n').filter((line) => line.includes(folder + '/root '));
    const logger = { info() {}, error() {}, warn() {}, debug() {} };
    const rootDir = await ensureRootDir({ rootDir: folder + '/root', podLogsDir: folder + '/logs', checkpoints: false, logger });
    const during = mounts();
    await rootDir.release();
    console.log(JSON.stringify({ problem: rootDir.problem, during, after: mounts() }));
  `;
  const command = ['--mount', '--propagation=private', ...setpriv, process.execPath, '--input-type=module', '-e', script, source, folder];
  return JSON.parse(execFileSync('unshare', command, { encoding: 'utf8' })) as ReturnType<typeof ensureIn>;
}

test('a root folder on a private mount becomes a shared mount until it is released', (t) => {
  const { problem, during, after } = ensureIn(t, []);
  assert.equal(problem, null);
  assert.match(during.join('\n'), /^[^\n]* shared:\d+ [^\n]*$/);
  assert.deepEqual(after, []);
});

test('a root folder that can’t be mounted has a problem in upstream’s words', (t) => {
  const { problem, during } = ensureIn(t, ['setpriv', '--bounding-set=-sys_admin']);
  assert.match(problem ?? '', /^error configuring root directory: failed to bind-mount \/.*\/root: EPERM/);
  assert.deepEqual(during, []);
});
