/** Pull secrets are reduced to what an image can use, and the result finds the same credentials as the whole secrets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PullSecret } from '../../../../../src/shared/contracts/pod-objects.ts';
import { credentialsOfSecrets } from '../../../../../src/workers/images/pulls/credentials/keyring.ts';
import { matchingPullSecrets } from '../../../../../src/workers/pod-sync/start/matching-pull-secrets.ts';
import { table } from '../../../../support/table.ts';

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

table('reduced secrets find the credentials of whole secrets', (row) => {
  for (const image of ['registry.example/team/app:1', 'registry.example/app', 'other.example/app', 'busybox', 'elsewhere.test:5000/app']) {
    for (const secrets of [[dockerConfigJSON({ auths: registries })], [dockercfg(registries), dockerConfigJSON({ auths: {} })]]) {
      row(`${image} with ${secrets.map(({ name }) => name).join()}`, () => {
        const repository = image.replace(/:1$/, '').replace(/^busybox$/, 'docker.io/library/busybox');
        assert.deepEqual(credentialsOfSecrets(repository, matchingPullSecrets(image, secrets)), credentialsOfSecrets(repository, secrets));
      });
    }
  }
});

table('only what the image can use is left', (row) => {
  const cases: readonly [string, string, readonly PullSecret[], readonly unknown[]][] = [
    [
      'one registry',
      'other.example/app',
      [dockerConfigJSON({ auths: { ...registries, '*.example': undefined } })],
      [{ auths: { 'other.example': registries['other.example'] } }],
    ],
    ['no registry', 'elsewhere.test/app', [dockerConfigJSON({ auths: registries })], []],
    ['null', 'busybox', [dockerConfigJSON({ auths: null })], []],
    ['another type', 'busybox', [{ ...dockerConfigJSON({ auths: registries }), type: 'Opaque' }], []],
    ['an invalid image', '', [dockerConfigJSON({ auths: registries })], []],
  ];
  for (const [name, image, secrets, want] of cases) {
    row(name, () => {
      const contents = matchingPullSecrets(image, secrets).map(({ data }) => {
        assert.deepEqual(Object.keys(data), ['.dockerconfigjson']);
        return JSON.parse(Buffer.from(data['.dockerconfigjson']!, 'base64').toString()) as unknown;
      });
      assert.deepEqual(contents, want);
    });
  }
});

table('a secret that cannot be read is reported as before', (row) => {
  for (const content of ['{', '[]', '"text"', { auths: [] }, { auths: 'text' }]) {
    row(JSON.stringify(content), () => {
      const [secret] = matchingPullSecrets('registry.example/app', [dockerConfigJSON(content)]);
      assert.ok(secret);
      assert.ok(JSON.stringify(secret).length < 200);
      assert.throws(() => credentialsOfSecrets('registry.example/app', [secret]), /^Error: image pull secret n\/s cannot be used$/);
    });
  }
});

test('a megabyte of entries for one image is refused, for other images it costs nothing', () => {
  const auths = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`registry.example/${index}`, { auth: base64(`u:${'x'.repeat(100_000)}`) }]),
  );
  const secrets = [dockerConfigJSON({ auths: { ...auths, 'registry.example': { auth: base64(`u:${'x'.repeat(200_000)}`) } } })];
  assert.throws(
    () => matchingPullSecrets('registry.example/app', secrets),
    /more than 131072 bytes of credentials for image "registry.example\/app"/,
  );
  assert.deepEqual(matchingPullSecrets('other.example/app', secrets), []);
});
