/** Credential plugins as real processes, from their configuration on disk. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadCredentialProviders } from '../../../src/main/config/credential-providers/load-credential-providers.ts';
import { runPlugin } from '../../../src/shared/linux/run-plugin.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { CredentialPlugins } from '../../../src/workers/images/pulls/credentials/plugins/credential-plugins.ts';
import { aLogger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { table } from '../../support/table.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const pod = { namespace: 'ns', name: 'web', uid: 'u', serviceAccountName: '' };

/** A folder with plugins (shell scripts) and files of configuration. */
function aFolder(t: { after: (clean: () => void) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'credential-plugins-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [bin, config] = [join(folder, 'bin'), join(folder, 'config')];
  for (const dir of [bin, config]) mkdirSync(dir);
  return {
    bin,
    config,
    plugin: (name: string, script: string, mode = 0o755) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, name), mode);
    },
    write: (file: string, name: string, version = 'v1', fields: object = {}) => {
      const provider = { name, matchImages: ['*.example'], defaultCacheDuration: '1m', apiVersion, ...fields };
      const text = { apiVersion: `kubelet.config.k8s.io/${version}`, kind: 'CredentialProviderConfig', providers: [provider] };
      writeFileSync(join(config, file), JSON.stringify(text));
    },
  };
}

function usersOf({ bin, config }: ReturnType<typeof aFolder>, signal = new AbortController().signal) {
  const { logger, lines } = aLogger();
  const { providers } = loadCredentialProviders(config, bin, true);
  const plugins = new CredentialPlugins({
    providers,
    environment: process.env,
    run: runPlugin,
    pullToken: () => Promise.reject(new Error('no tokens here')),
    signal,
    clock: systemClock,
    logger,
  });
  const users = async (image: string) =>
    (await plugins.sources(image, pod)).flatMap(({ config: logins }) => [...logins.values()].map(({ username }) => username));
  return { users, lines };
}

/** Prints a response whose user is a shell expression. */
const printing = (user: string) =>
  `printf '{"kind":"CredentialProviderResponse","apiVersion":"${apiVersion}","cacheKeyType":"Image","auth":{"r.example":{"username":"%s","password":"p"}}}' "${user}"`;

test('the plugins of a folder of files run in the files’ order, with input, arguments and variables', async (t) => {
  const folder = aFolder(t);
  folder.plugin('one', `grep -q r.example/a && ${printing('$1 $SET')}`);
  folder.plugin('two', printing('ignores its input'));
  folder.write('20.yaml', 'two', 'v1beta1');
  folder.write('10.json', 'one', 'v1alpha1', { args: ['first'], env: [{ name: 'SET', value: 'variable' }] });
  writeFileSync(join(folder.config, 'README'), 'not read');
  assert.deepEqual(await usersOf(folder).users('r.example/a'), ['first variable', 'ignores its input']);
});

test('a plugin that fails, prints too much or prints nonsense costs only its own credentials', async (t) => {
  const folder = aFolder(t);
  for (const [name, script] of [
    ['a-fails', 'echo geheim; echo reason >&2; exit 3'],
    ['b-floods', 'while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done'],
    ['c-nonsense', 'echo geheim'],
    ['d-good', printing('good')],
  ] as const) {
    folder.plugin(name, script);
    folder.write(`${name}.json`, name);
  }
  const { users, lines } = usersOf(folder);
  assert.deepEqual(await users('r.example/a'), ['good']);
  assert.deepEqual(lines.map(({ provider, err }) => `${String(provider)}: ${String(err)}`.trim()).sort(), [
    'a-fails: error execing credential provider plugin a-fails for image r.example/a: exit status 3: reason',
    'b-floods: error execing credential provider plugin b-floods for image r.example/a: printed more than 1048576 bytes',
    "c-nonsense: error reading GVK from response: couldn't get version/kind; json parse error",
  ]);
});

test('a plugin that hangs ends with its children when it is stopped', async (t) => {
  const folder = aFolder(t);
  const pidFile = join(folder.bin, 'pid');
  folder.plugin('hangs', `sleep 1000 & echo $! > ${pidFile}; wait`);
  folder.write('a.json', 'hangs');
  const stop = new AbortController();
  const users = usersOf(folder, stop.signal).users('r.example/a');
  const pid = await waitUntil('the plugin runs', () => (existsSync(pidFile) && readFileSync(pidFile, 'utf8').trim()) || null);
  stop.abort();
  assert.deepEqual(await users, []);
  // A killed child without a parent that waits for it stays a zombie.
  await waitUntil('its child has ended', () => /\) [ZX]/.test(statOf(pid)));
});

/** The state of a process that may end at any time; `) X` afterwards. */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return ') X';
  }
}

test('the hash of the configuration is upstream’s', (t) => {
  const folder = aFolder(t);
  folder.plugin('p', '');
  const file = join(folder.config, 'a.yaml');
  writeFileSync(
    file,
    `apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n- {name: p, matchImages: [r.example], defaultCacheDuration: 0s, apiVersion: ${apiVersion}}\n`,
  );
  const { configHash } = loadCredentialProviders(file, folder.bin, true);
  // printf '\0\0\0\0\0\0\0\xc1' | cat - a.yaml | sha256sum
  assert.equal(configHash, 'sha256:51e9f651090d0627b378aa873dc9248a395abf49283ea2f85407bc6be57c9a0f');
});

table('an unusable configuration ends the start with its reason', (row) => {
  type Change = (folder: ReturnType<typeof aFolder>) => Partial<{ bin: string; config: string }> | void;
  const cases: readonly (readonly [want: RegExp, change: Change])[] = [
    [/: Failed to register CRI auth plugins: plugin binary directory \/nowhere did not exist$/, () => ({ bin: '/nowhere' })],
    [/credential provider config path is empty$/, () => ({ config: '' })],
    [/unable to access path "\/nowhere": ENOENT/, () => ({ config: '/nowhere' })],
    [/no configuration files found in directory/, ({ config }) => rmSync(join(config, 'a.yml'))],
    [/plugin binary executable .*\/bin\/p did not exist$/, ({ bin }) => rmSync(join(bin, 'p'))],
    [/error inspecting binary executable .*\/bin\/p: EACCES/, ({ bin }) => chmodSync(join(bin, 'p'), 0o644)],
    [/duplicate provider name "p" found in configuration file\(s\)$/, ({ write }) => write('b.yaml', 'p')],
    [/error decoding config ".*\/b.json": line 1: /, ({ config }) => writeFileSync(join(config, 'b.json'), '{')],
    [
      /failed to validate credential provider config: providers.apiVersion: Unsupported/,
      ({ write }) => write('a.yml', 'p', 'v1', { apiVersion: 'v' }),
    ],
  ];
  for (const [want, change] of cases) {
    row(want.source, () => {
      const ends: (() => void)[] = [];
      const folder = aFolder({ after: (end) => void ends.push(end) });
      folder.plugin('p', '');
      folder.write('a.yml', 'p');
      const { bin, config } = { ...folder, ...change(folder) };
      assert.throws(() => loadCredentialProviders(config, bin, true), want);
      for (const end of ends) end();
    });
  }
});
