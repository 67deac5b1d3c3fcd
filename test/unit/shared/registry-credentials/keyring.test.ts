import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { PullSecret } from '../../../../src/shared/registry-credentials/keyring.ts';
import { parseDockerConfigJSON, parseDockercfg, type DockerConfig } from '../../../../src/shared/registry-credentials/docker-config.ts';
import { credentialsOfSecrets, findCredentials } from '../../../../src/shared/registry-credentials/keyring.ts';
import { registryKey, registryMatches } from '../../../../src/shared/registry-credentials/registry-match.ts';
import { table } from '../../../support/table.ts';

table('a registry in a config becomes a key', (row) => {
  for (const [written, want] of [
    ['registry.example', 'registry.example'],
    ['https://registry.example/', 'registry.example'],
    ['http://registry.example:5000/team', 'registry.example:5000/team'],
    ['https://index.docker.io/v1/', 'index.docker.io'],
    ['registry.example/v2/team', 'registry.example/team'],
    ['registry.example/v1', 'registry.example/v1'],
    ['*.registry.example', '*.registry.example'],
    ['[fd00::1]:5000', '[fd00::1]:5000'],
    ['not a registry', undefined],
    ['registry.example:port', undefined],
    ['registry.example/team?query#fragment', 'registry.example/team'],
    [`${'?'.repeat(500_000)}\n`, ''],
  ] as const) {
    row(`the key of ${written.slice(0, 60)} is ${want}`, () => assert.equal(registryKey(written), want));
  }
});

table('a key matches repositories', (row) => {
  for (const [key, repository, want] of [
    ['registry.example', 'registry.example/team/app', true],
    ['registry.example', 'other.example/team/app', false],
    ['registry.example/team', 'registry.example/team/app', true],
    ['registry.example/team', 'registry.example/other/app', false],
    ['registry.example:5000', 'registry.example/app', false],
    ['registry.example:5000', 'registry.example:5000/app', true],
    ['registry.example', 'registry.example:5000/app', false],
    ['*.example', 'registry.example/app', true],
    ['*.example', 'deep.registry.example/app', false],
    ['*.*.example', 'deep.registry.example/app', true],
    ['prefix.*.example', 'prefix.x.example/app', true],
    ['registr?.example', 'registry.example/app', true],
    ['r[f-z]gistry.example', 'registry.example/app', false],
    ['r[a-f]gistry.example', 'registry.example/app', true],
    ['r[egistry.example', 'registry.example/app', false],
    ['a.b', 'axb/app', false],
    ['r[^e]gistry.example', 'registry.example/app', false],
    ['r[^a]gistry.example', 'registry.example/app', true],
    ['r[a-]gistry.example', 'registry.example/app', false],
    ['r[]e]gistry.example', 'registry.example/app', false],
    ['r[z-a]gistry.example', 'registry.example/app', false],
    ['r[xye]g*y.example', 'registry.example/app', true],
    ['*s*r*.example', 'registry.example/app', true],
    ['*s*s*.example', 'registry.example/app', false],
    ['re*', 're', true],
    ['*?', '', false],
    // Pattern and image are user input. Backtracking to every star would take hours.
    [`${'a*'.repeat(40)}b.example`, `${'a'.repeat(200)}.example/app`, false],
  ] as const) {
    row(`the key ${key} ${want ? 'matches' : 'does not match'} ${repository}`, () => {
      assert.equal(registryMatches(key, repository), want);
    });
  }
});

const auth = (text: string) => Buffer.from(text).toString('base64');
function aSecret(name: string, auths: object, fields: Partial<PullSecret> = {}): PullSecret {
  const data = { '.dockerconfigjson': auth(JSON.stringify({ auths })) };
  return { namespace: 'ns', name, uid: `uid-${name}`, type: 'kubernetes.io/dockerconfigjson', data, ...fields };
}
const credentialsFor = (repository: string, secrets: readonly PullSecret[], node: DockerConfig = new Map()) => [
  ...credentialsOfSecrets(repository, secrets),
  ...findCredentials(repository, [{ config: node }]),
];
const users = (repository: string, secrets: readonly PullSecret[], node: DockerConfig = new Map()) =>
  credentialsFor(repository, secrets, node).map(({ login, secret }) => `${login.username} ${secret?.name ?? 'node'}`);

test('the most specific registry comes first, and the pod’s credentials precede the node’s', () => {
  const secrets = [
    aSecret('a', { 'registry.example': { username: 'host', password: 'p' }, 'registry.example/team': { auth: auth('team:pa:ss') } }),
    aSecret('b', { 'https://registry.example/team/': { username: 'slash' }, 'registry.example': { username: 'second' } }),
  ];
  const node = parseDockerConfigJSON(JSON.stringify({ auths: { 'registry.example': { auth: auth('n:p') } } }));
  assert.deepEqual(users('registry.example/team/app', secrets, node), ['slash b', 'team a', 'host a', 'second b', 'n node']);
  assert.equal(credentialsFor('registry.example/team/app', secrets, node)[1]?.login.password, 'pa:ss');
  assert.deepEqual(users('other.example/app', secrets, node), []);
});

test('credentials under the default registry’s name apply to its images', () => {
  const secrets = [aSecret('hub', { 'https://index.docker.io/v1/': { auth: auth('me:p') } })];
  assert.deepEqual(users('docker.io/library/busybox', secrets), ['me hub']);
  assert.deepEqual(users('registry.example/busybox', secrets), []);
});

test('dockercfg secrets are credentials, secrets of other types are not', () => {
  const dockercfg = { '.dockercfg': auth(JSON.stringify({ 'registry.example': { username: 'old' } })) };
  const secrets = [
    aSecret('old', {}, { type: 'kubernetes.io/dockercfg', data: dockercfg }),
    aSecret('opaque', { 'registry.example': { username: 'no' } }, { type: 'Opaque' }),
    aSecret('empty', {}, { data: {} }),
  ];
  assert.deepEqual(users('registry.example/app', secrets), ['old old']);
});

test('the hash of a credential equals upstream’s', () => {
  const [credential] = credentialsFor('r.example/a', [aSecret('a', { 'r.example': { auth: auth('u<:p'), email: 'e@x' } })]);
  const json = '{"username":"u\\u003c","password":"p","email":"e@x"}';
  assert.equal(credential?.hash, createHash('sha256').update(json).digest('hex'));
});

table('an unreadable pull secret is rejected with its name and without its content', (row) => {
  for (const [what, text] of [
    ['invalid JSON', 'password=geheim'],
    ['a JSON list', '["geheim"]'],
    ['an auth without a colon', JSON.stringify({ auths: { 'r.example': { auth: auth('geheim') } } })],
    ['an auth that is not base64', JSON.stringify({ auths: { 'r.example': { auth: 'geheim!' } } })],
    ['a name that is not a string', JSON.stringify({ auths: { 'r.example': { username: { geheim: 1 } } } })],
  ] as const) {
    row(`a pull secret with ${what} is rejected with its name and without its content`, () => {
      const secret = aSecret('bad', {}, { data: { '.dockerconfigjson': auth(text) } });
      assert.throws(
        () => credentialsFor('r.example/a', [secret]),
        (err: Error) => {
          assert.match(err.message, /image pull secret ns\/bad cannot be used/);
          assert.doesNotMatch(`${err.message} ${(err.cause as Error).message}`, /geheim/);
          return true;
        },
      );
    });
  }
});

test('a config without registries has no credentials', () => {
  assert.equal(parseDockerConfigJSON('{}').size, 0);
  assert.equal(parseDockercfg('{}').size, 0);
});
