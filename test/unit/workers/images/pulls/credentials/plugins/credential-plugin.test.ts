import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CredentialProvider, PullTokenReply } from '../../../../../../../src/shared/contracts/credential-providers.ts';
import type { PluginCommand, PluginExit } from '../../../../../../../src/shared/linux/run-plugin.ts';
import {
  CredentialPlugins,
  type PullingPod,
} from '../../../../../../../src/workers/images/pulls/credentials/plugins/credential-plugins.ts';
import { FakeClock, settle } from '../../../../../../support/fake-clock.ts';
import { aLogger } from '../../../../../../support/logger.ts';
import { table } from '../../../../../../support/table.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const pod: PullingPod = { namespace: 'ns', name: 'web', uid: 'pod-uid', serviceAccountName: 'sa' };
const aProvider = (fields: Partial<CredentialProvider> = {}): CredentialProvider => ({
  name: 'plugin',
  command: '/bin/plugin',
  apiVersion,
  matchImages: ['*.example'],
  defaultCacheDurationMs: 0,
  args: ['get'],
  env: { SET: 'by the provider' },
  tokens: null,
  ...fields,
});
type Tokens = NonNullable<CredentialProvider['tokens']>;
const withTokens = (fields: Partial<Tokens> = {}) =>
  aProvider({
    defaultCacheDurationMs: 60_000,
    tokens: {
      audience: 'registry',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredAnnotations: [],
      optionalAnnotations: [],
      ...fields,
    },
  });

function respond(fields: object = {}): PluginExit {
  const auth = { 'r.example': { username: 'me', password: 'geheim' } };
  const response = { kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Image', auth, ...fields };
  return { result: 'exited', code: 0, stdout: JSON.stringify(response), stderr: '' };
}

/** Plugins whose runs the test answers. */
function somePlugins(providers: readonly CredentialProvider[], exit: PluginExit | (() => Promise<PluginExit>) = respond()) {
  const clock = new FakeClock();
  const commands: PluginCommand[] = [];
  const { logger, lines } = aLogger();
  let token: PullTokenReply = { outcome: 'granted', serviceAccountUID: 'sa-uid', token: 'token-1', annotations: {} };
  const plugins = new CredentialPlugins({
    providers,
    environment: { PATH: '/bin', SET: 'by the kubelet' },
    run: async (command) => {
      commands.push(command);
      return typeof exit === 'function' ? exit() : exit;
    },
    pullToken: async () => token,
    signal: new AbortController().signal,
    clock,
    logger,
  });
  const users = async (image: string, by: PullingPod = pod) =>
    (await plugins.sources(image, by)).flatMap(({ config }) => [...config.values()].map(({ username }) => username));
  const images = () => commands.map(({ stdin = '' }) => (JSON.parse(stdin) as { image: string }).image);
  return { clock, commands, images, lines, plugins, users, grant: (reply: PullTokenReply) => (token = reply) };
}

test('a plugin runs for matching images, with its arguments, its variables and the request', async () => {
  const { users, commands } = somePlugins([aProvider()]);
  assert.deepEqual(await users('r.other/a'), []);
  assert.deepEqual(await users('r.example/a'), ['me']);
  const stdin = `{"kind":"CredentialProviderRequest","apiVersion":"${apiVersion}","image":"r.example/a"}\n`;
  assert.deepEqual(commands, [{ command: '/bin/plugin', args: ['get'], env: { PATH: '/bin', SET: 'by the provider' }, stdin }]);
});

const asked = ['r.example/a', 'r.example/b', 'r.example/a', 's.example/a'];
table('credentials are cached by the response’s key', (row) => {
  for (const [cacheKeyType, fields, provider, want] of [
    ['Image', {}, 60_000, ['r.example/a', 'r.example/b', 's.example/a']],
    ['Registry', {}, 60_000, ['r.example/a', 's.example/a']],
    ['Global', {}, 60_000, ['r.example/a']],
    ['Global', {}, 0, asked],
    ['Global', { cacheDuration: '0s' }, 60_000, asked],
    ['Global', { cacheDuration: '1m0s' }, 0, ['r.example/a']],
  ] as const) {
    row(`${cacheKeyType}, ${JSON.stringify(fields)}, default ${provider} ms: ${want.length} runs`, async () => {
      const { users, images } = somePlugins([aProvider({ defaultCacheDurationMs: provider })], respond({ cacheKeyType, ...fields }));
      for (const image of asked) await users(image);
      assert.deepEqual(images(), want);
    });
  }
});

test('cached credentials expire', async () => {
  const { users, images, clock } = somePlugins([aProvider({ defaultCacheDurationMs: 60_000 })]);
  await users('r.example/a');
  await clock.advance(60_000);
  await users('r.example/a');
  assert.equal(images().length, 1);
  await clock.advance(1);
  await users('r.example/a');
  assert.equal(images().length, 2);
});

test('concurrent requests for an image share a run, and a plugin has at most 16 processes', async () => {
  const end = Promise.withResolvers<void>();
  const { users, images } = somePlugins([aProvider()], () => end.promise.then(() => respond()));
  const waiting = Array.from({ length: 40 }, (_, index) => users(`r.example/${index >> 1}`));
  await settle();
  assert.equal(images().length, 16);
  end.resolve();
  assert.deepEqual([...new Set((await Promise.all(waiting)).flat())], ['me']);
  assert.equal(images().length, 20);
});

table('a failed run is logged, and other plugins go on', (row) => {
  const command = 'error execing credential provider plugin bad for image r.example/a';
  for (const [what, exit, want] of [
    ['exit status', { result: 'exited', code: 3, stdout: 'geheim', stderr: 'no metadata' }, `${command}: exit status 3: no metadata`],
    ['missing', { result: 'not found' }, `${command}: fork/exec /bin/plugin: no such file or directory`],
    ['hung', { result: 'failed', message: 'did not end within 60 s' }, `${command}: did not end within 60 s`],
    ['bad response', respond({ geheim: 1 }), 'error decoding credential provider plugin response from stdout'],
  ] as const) {
    row(what, async () => {
      let runs = 0;
      const { users, lines } = somePlugins([aProvider({ name: 'bad' }), aProvider()], async () => ((runs += 1) === 1 ? exit : respond()));
      assert.deepEqual(await users('r.example/a'), ['me']);
      assert.deepEqual(
        lines.map(({ err, provider }) => [provider, err]),
        [['bad', want]],
      );
    });
  }
});

test('with tokens, the request has the pod’s token, and the credentials belong to the service account', async () => {
  const { plugins, commands, grant } = somePlugins([withTokens()]);
  grant({ outcome: 'granted', serviceAccountUID: 'sa-uid', token: 'token-1', annotations: { b: '2', a: '1' } });
  const [source] = await plugins.sources('r.example/a', pod);
  assert.deepEqual(source?.serviceAccount, { uid: 'sa-uid', namespace: 'ns', name: 'sa' });
  assert.deepEqual(JSON.parse(commands[0]?.stdin ?? ''), {
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: 'r.example/a',
    serviceAccountToken: 'token-1',
    serviceAccountAnnotations: { a: '1', b: '2' },
  });
});

test('concurrent requests with different tokens share no run', async () => {
  const end = Promise.withResolvers<void>();
  const { users, commands, grant } = somePlugins([withTokens()], () => end.promise.then(() => respond()));
  const waiting: Promise<string[]>[] = [];
  for (const token of ['token-1', 'token-2', 'token-2']) {
    grant({ outcome: 'granted', serviceAccountUID: 'sa-uid', token, annotations: {} });
    waiting.push(users('r.example/a'));
    await settle();
  }
  const tokens = commands.map(({ stdin = '' }) => (JSON.parse(stdin) as { serviceAccountToken: string }).serviceAccountToken);
  assert.deepEqual(tokens, ['token-1', 'token-2']);
  end.resolve();
  await Promise.all(waiting);
});

table('with tokens, credentials are cached by account or by token', (row) => {
  for (const [cacheType, runs] of [
    ['ServiceAccount', 1],
    ['Token', 2],
  ] as const) {
    row(cacheType, async () => {
      const { users, images, grant } = somePlugins([withTokens({ cacheType })], respond({ cacheKeyType: 'Global' }));
      await users('r.example/a');
      grant({ outcome: 'granted', serviceAccountUID: 'sa-uid', token: 'token-2', annotations: {} });
      await users('r.example/a');
      assert.equal(images().length, runs);
      grant({ outcome: 'granted', serviceAccountUID: 'other', token: 'token-2', annotations: {} });
      await users('r.example/a');
      assert.equal(images().length, runs + 1);
    });
  }
});

table('a plugin with tokens is used or not', (row) => {
  const granted: PullTokenReply = { outcome: 'granted', serviceAccountUID: 'u', token: 'geheim', annotations: {} };
  const failure = { reason: 'NotFound', message: 'no account' };
  const nobody = { ...pod, serviceAccountName: '' };
  for (const [what, tokens, by, reply, want] of [
    ['not for a pod without an account', {}, nobody, granted, []],
    ['for a pod without an account that it does not require', { requireServiceAccount: false }, nobody, granted, ['me']],
    ['not for an account without the annotation', {}, pod, { outcome: 'missing annotation', annotation: 'a' }, []],
    ['not for an account that cannot be read', {}, pod, { outcome: 'failed', failure }, []],
    ['not when it returns the token as the password', {}, pod, granted, []],
    ['when it is cached by token and returns the token', { cacheType: 'Token' }, pod, granted, ['me']],
  ] as const) {
    row(what, async () => {
      const { users, grant } = somePlugins([withTokens(tokens)]);
      grant(reply);
      assert.deepEqual(await users('r.example/a', by), want);
    });
  }
});
