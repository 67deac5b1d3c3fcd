/** The guests themselves: commands, files, several at once, their ends. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Guest } from '../../lab/guest/guest.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const options = { memory: '512M' };

describe('a guest', () => {
  let guest: Guest;
  let folder: string;
  /** The folder of a guest whose owner was killed before `guest` was booted. */
  let orphaned: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'guest-test-'));
    orphaned = await bootAndKillOwner();
    guest = await Guest.boot(options);
  });
  after(async () => {
    await guest?.shutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  test('has systemd, cgroup v2 with all controllers, pressure information, and AppArmor', async () => {
    assert.equal(await guest.check('systemctl is-system-running --wait'), 'running');
    assert.equal(await guest.check('cat /sys/fs/cgroup/cgroup.controllers'), 'cpuset cpu io memory pids');
    assert.match(await guest.check('cat /proc/pressure/memory'), /^some avg10=/);
    assert.equal(await guest.check('cat /sys/module/apparmor/parameters/enabled'), 'Y');
  });

  test('runs commands at once, and returns their output and exit codes', async () => {
    const [slow, failed, killed] = await Promise.all([
      guest.run('sleep 1; echo slow'),
      guest.run('echo out; echo err >&2; exit 3'),
      guest.run('kill -9 $$'),
    ]);
    assert.deepEqual(slow, { code: 0, stdout: 'slow\n', stderr: '' });
    assert.deepEqual(failed, { code: 3, stdout: 'out\n', stderr: 'err\n' });
    assert.equal(killed.code, 137);
  });

  test('kills a command at its time-out', async () => {
    await assert.rejects(guest.run('echo begun; exec sleep 1234', { timeoutMs: 500 }), /killed after 500 ms\nbegun/);
    assert.equal((await guest.run('pidof sleep')).code, 1);
  });

  test('copies files in and out', async () => {
    const text = 'one\ntwo '.repeat(100_000);
    writeFileSync(join(folder, 'in'), text, { mode: 0o750 });
    await guest.copyIn(join(folder, 'in'), '/srv/new/file');
    assert.equal(await guest.check('stat -c %a /srv/new/file'), '750');
    await guest.copyOut('/srv/new/file', join(folder, 'out'));
    assert.equal(readFileSync(join(folder, 'out'), 'utf8'), text);
  });

  describe('beside another one', () => {
    let second: Guest;
    before(async () => {
      second = await Guest.boot({ ...options, share: [folder] });
    });
    after(() => second?.shutdown());

    test('shares nothing with it', async () => {
      await Promise.all([guest.check('echo first > /srv/mark'), second.check('echo second > /srv/mark')]);
      assert.equal(await guest.check('cat /srv/mark'), 'first');
      writeFileSync(join(folder, 'shared'), 'by the host');
      assert.equal(await second.check(`cat ${folder}/shared`), 'by the host');
      assert.notEqual((await second.run(`touch ${folder}/by-the-guest`)).code, 0);
    });

    test('that panics fails its commands immediately, with its console', async () => {
      const waiting = second.run('sleep 600', { timeoutMs: 600_000 });
      const panic = second.run('echo c > /proc/sysrq-trigger');
      await assert.rejects(waiting, ({ cause }: Error) => /the guest has ended.*sysrq/s.test(String(cause)));
      await assert.rejects(panic);
      await assert.rejects(second.run('true'), ({ cause }: Error) => /the guest has ended/.test(String(cause)));
      await second.shutdown();
      assert.ok(!existsSync(second.folder));
    });
  });

  test('is not built in a lane of tests, which has no network', () => {
    const install = join(import.meta.dirname, '../../lab/guest/install.ts');
    const env = { ...process.env, XDG_CACHE_HOME: join(folder, 'cache'), KUBELET_TEST_LANE: '0' };
    for (const [part, file] of [
      ['kernel', 'linux'],
      ['root', 'root.img'],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [install, part], { env, encoding: 'utf8', timeout: 20_000 });
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`guest-${part}-[0-9a-f]+/${file} is missing, and a lane of tests`));
    }
  });

  test('ends with the process that booted it, and its folder is removed at the next boot', () => {
    assert.ok(!existsSync(orphaned));
  });
});

/** Returns the folder of a guest that has ended with its owner. */
async function bootAndKillOwner(): Promise<string> {
  const module = join(import.meta.dirname, '../../lab/guest/guest.ts');
  const script = `const { Guest } = await import(${JSON.stringify(module)}); console.log((await Guest.boot(${JSON.stringify(options)})).folder);`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const orphaned = await new Promise<string>((resolve) => owner.stdout.once('data', (data: Buffer) => resolve(String(data).trim())));
  const pid = readFileSync(join(orphaned, 'uml/guest/pid'), 'utf8').trim();
  const ended = new Promise((resolve) => owner.once('exit', resolve));
  owner.kill('SIGKILL');
  await ended;
  await waitUntil('the guest has ended', () => Promise.resolve(!existsSync(`/proc/${pid}`)));
  assert.ok(existsSync(orphaned));
  return orphaned;
}
