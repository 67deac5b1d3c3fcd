import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExecPlugin } from '../../../../../src/main/api/identity/exec-plugin.ts';
import { parseExecCredential } from '../../../../../src/main/api/identity/exec-credential.ts';
import type { PluginCommand, PluginExit } from '../../../../../src/shared/linux/run-plugin.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { silentLogger } from '../../../../support/logger.ts';
import { table } from '../../../../support/table.ts';

const apiVersion = 'client.authentication.k8s.io/v1' as const;
const never = new AbortController().signal;

function printed(token: string, expirationTimestamp?: string): PluginExit {
  const stdout = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token, expirationTimestamp } });
  return { result: 'exited', code: 0, stdout, stderr: '' };
}

function aPlugin(exits: PluginExit[]) {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const commands: PluginCommand[] = [];
  const plugin = new ExecPlugin({
    plugin: { command: 'aws', args: ['eks', 'get-token'], env: { B: '2' }, apiVersion, installHint: '', provideClusterInfo: false },
    info: async () => '{}',
    environment: { A: '1' },
    run: async (command) => {
      commands.push(command);
      return exits.shift()!;
    },
    clock,
    logger: silentLogger,
  });
  return { plugin, clock, commands };
}

test('concurrent callers share one run, until its credentials expire', async () => {
  const { plugin, clock, commands } = aPlugin([printed('one', '2026-01-01T00:10:00Z'), printed('two')]);
  const tokens = await Promise.all([plugin.current(never), plugin.current(never)]);
  assert.deepEqual(
    tokens.map(({ token }) => token),
    ['one', 'one'],
  );
  await clock.advance(9 * 60_000);
  assert.equal((await plugin.current(never)).token, 'one');
  await clock.advance(2 * 60_000);
  assert.equal((await plugin.current(never)).token, 'two');
  assert.deepEqual(commands[0], { command: 'aws', args: ['eks', 'get-token'], env: { A: '1', B: '2', KUBERNETES_EXEC_INFO: '{}' } });
  assert.equal(commands.length, 2);
});

test('rejected credentials are replaced, but not with every call', async () => {
  const { plugin, clock, commands } = aPlugin([printed('one'), printed('two'), printed('three')]);
  await plugin.current(never);
  await clock.advance(60_000);
  plugin.invalidateBefore(clock.monotonic());
  assert.equal((await plugin.current(never)).token, 'two');
  await clock.advance(100);
  plugin.invalidateBefore(clock.monotonic());
  assert.equal((await plugin.current(never)).token, 'two');
  assert.equal(commands.length, 2);
  await clock.advance(5_000);
  assert.equal((await plugin.current(never)).token, 'three');
});

test('a failed plugin is run again only after some seconds', async () => {
  const failed: PluginExit = { result: 'exited', code: 255, stdout: '', stderr: 'token is\nexpired\u001b[0m' };
  const { plugin, clock, commands } = aPlugin([failed, printed('one')]);
  for (let i = 0; i < 3; i += 1) {
    await assert.rejects(
      plugin.current(never),
      /getting credentials: exec: executable aws failed with exit code 255: token is expired \[0m/,
    );
  }
  assert.equal(commands.length, 1);
  await clock.advance(5_000);
  assert.equal((await plugin.current(never)).token, 'one');
});

test('rejected credentials stay in use while the plugin fails, until they expire', async () => {
  const failed = (): PluginExit => ({ result: 'exited', code: 1, stdout: '', stderr: 'no network' });
  const { plugin, clock, commands } = aPlugin([printed('one', '2026-01-01T00:10:00Z'), failed(), failed(), failed(), printed('two')]);
  await plugin.current(never);
  await clock.advance(60_000);
  plugin.invalidateBefore(clock.monotonic());
  for (const seconds of [0, 1, 4]) {
    await clock.advance(seconds * 1000);
    assert.equal((await plugin.current(never)).token, 'one');
  }
  assert.equal(commands.length, 3);
  await clock.advance(10 * 60_000);
  await assert.rejects(plugin.current(never), /no network/);
  await clock.advance(5_000);
  assert.equal((await plugin.current(never)).token, 'two');
});

const refused: [name: string, printed: string, want: RegExp][] = [
  ['no JSON', 's3cret', /not JSON/],
  ['another kind', '{"kind":"Token","status":{"token":"s3cret"}}', /not an ExecCredential/],
  ['another version', '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"}', /plugin returned version client/],
  ['no status', `{"kind":"ExecCredential","apiVersion":"${apiVersion}"}`, /didn't return a status/],
  ['an empty status', `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{}}`, /didn't return a token or cert/],
  ['a key alone', `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"clientKeyData":"s3cret"}}`, /not both/],
  ['a number for a token', `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":1}}`, /not a string/],
  [
    'a bad time',
    `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"s3cret","expirationTimestamp":"soon"}}`,
    /not a time/,
  ],
  [
    'a bad certificate',
    `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"clientCertificateData":"x","clientKeyData":"s3cret"}}`,
    /failed parsing/,
  ],
];
table('invalid output of a plugin is rejected and not quoted', (row) => {
  for (const [name, stdout, want] of refused) {
    row(`a plugin that prints ${name} is rejected, and its output is not quoted`, () => {
      assert.throws(
        () => parseExecCredential(stdout, apiVersion),
        (err: Error) => want.test(err.message) && !err.message.includes('s3cret'),
      );
    });
  }
});
