/** What the images thread gets of a pod's pull secrets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PullSecret } from '../../../../../../src/shared/registry-credentials/keyring.ts';
import { pullCredentials } from '../../../../../../src/workers/pod-sync/pod/start/pull-credentials.ts';
import { table } from '../../../../../support/table.ts';

const base64 = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
const login = (username: string) => ({ auth: base64(`${username}:secret`) });

function dockerConfigJSON(content: unknown): PullSecret {
  const data = { '.dockerconfigjson': base64(content), other: 'x'.repeat(1000) };
  return { namespace: 'n', name: 's', uid: 'u', type: 'kubernetes.io/dockerconfigjson', data };
}
function dockercfg(content: unknown): PullSecret {
  return { namespace: 'n', name: 'old', uid: 'v', type: 'kubernetes.io/dockercfg', data: { '.dockercfg': base64(content) } };
}

const registries = {
  'registry.example': login('host'),
  'https://registry.example/team': login('team'),
  '*.example': login('wildcard'),
  'other.example': login('other'),
  'https://index.docker.io/v1/': login('hub'),
};

table('only the credentials that an image can use are sent', (row) => {
  const cases: readonly [string, string, readonly PullSecret[], readonly string[]][] = [
    [
      'a path, its host and a wildcard',
      'registry.example/team/app:1',
      [dockerConfigJSON({ auths: registries })],
      ['team', 'host', 'wildcard'],
    ],
    ['the old format', 'other.example/app', [dockercfg(registries)], ['other', 'wildcard']],
    ['the default registry', 'busybox', [dockerConfigJSON({ auths: registries })], ['hub']],
    ['no registry', 'elsewhere.test:5000/app', [dockerConfigJSON({ auths: registries })], []],
    ['null', 'busybox', [dockerConfigJSON({ auths: null })], []],
    ['another type', 'busybox', [{ ...dockerConfigJSON({ auths: registries }), type: 'Opaque' }], []],
    ['an invalid image', '', [dockerConfigJSON({ auths: registries })], []],
    ['no secrets', 'busybox', [], []],
  ];
  for (const [name, image, secrets, want] of cases) {
    row(name, () => {
      const { credentials, problem } = pullCredentials(image, secrets);
      assert.equal(problem, null);
      assert.deepEqual(
        credentials.map(({ login: { username } }) => username),
        want,
      );
    });
  }
});

table('a secret that cannot be read is a problem, without its content', (row) => {
  const malformed = { auths: { 'registry.example': login('host'), 'other.example': { auth: base64('geheim') } } };
  for (const content of ['{', '[]', '"geheim"', { auths: [] }, { auths: 'geheim' }, malformed]) {
    row(JSON.stringify(content), () => {
      const { credentials, problem } = pullCredentials('registry.example/app', [dockerConfigJSON(content)]);
      assert.deepEqual(credentials, []);
      assert.match(problem ?? '', /^image pull secret n\/s cannot be used: /);
      assert.doesNotMatch(problem ?? '', /geheim/);
    });
  }
});

test('a megabyte of entries for one image is refused, for other images it costs nothing', () => {
  const auths = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`registry.example/${index}`, { auth: base64(`u:${'x'.repeat(100_000)}`) }]),
  );
  const secrets = [dockerConfigJSON({ auths: { ...auths, 'registry.example': { auth: base64(`u:${'x'.repeat(200_000)}`) } } })];
  assert.deepEqual(pullCredentials('registry.example/app', secrets), {
    credentials: [],
    problem: 'the image pull secrets have more than 131072 bytes of credentials for image "registry.example/app"',
  });
  assert.deepEqual(pullCredentials('other.example/app', secrets), { credentials: [], problem: null });
});
