import assert from 'node:assert/strict';
import { encodeRequest, parseResponse } from '../../../../../../../src/workers/images/pulls/credentials/plugins/plugin-messages.ts';
import { table } from '../../../../../../support/table.ts';

const version = 'credentialprovider.kubelet.k8s.io/v1';
const aResponse = (fields: object = {}) => ({ kind: 'CredentialProviderResponse', apiVersion: version, cacheKeyType: 'Image', ...fields });

table('a request has upstream’s fields', (row) => {
  const cases: readonly (readonly [what: string, token: string, annotations: Record<string, string>, want: object])[] = [
    ['without a token', '', {}, { image: 'r.example/a' }],
    ['with a token', 't', { a: 'b' }, { image: 'r.example/a', serviceAccountToken: 't', serviceAccountAnnotations: { a: 'b' } }],
  ];
  for (const [what, token, annotations, want] of cases) {
    row(what, () => {
      const request = { image: 'r.example/a', serviceAccountToken: token, serviceAccountAnnotations: annotations };
      assert.deepEqual(JSON.parse(encodeRequest(request, version)), { kind: 'CredentialProviderRequest', apiVersion: version, ...want });
    });
  }
});

table('a response is read', (row) => {
  for (const [what, fields, cacheDurationMs, logins] of [
    ['without credentials', {}, undefined, []],
    ['with null fields', { auth: null, cacheDuration: null }, undefined, []],
    ['with a duration of zero', { cacheDuration: '0s' }, 0, []],
    [
      'with credentials',
      { cacheDuration: '1m0s', auth: { 'r.example': { username: 'me', password: 'p' }, '*.example': { username: 'x' } } },
      60_000,
      [
        ['r.example', { username: 'me', password: 'p', email: '' }],
        ['*.example', { username: 'x', password: '', email: '' }],
      ],
    ],
  ] as const) {
    row(what, () => {
      const response = parseResponse(JSON.stringify(aResponse(fields)), version);
      assert.deepEqual([response.cacheDurationMs, [...response.logins]], [cacheDurationMs, logins]);
    });
  }
});

const undecodable = /^error decoding credential provider plugin response from stdout/;
table('a bad response is refused without its content', (row) => {
  const wrongVersion =
    /^apiVersion from credential plugin response did not match expected apiVersion:credentialprovider.kubelet.k8s.io\/v1, actual apiVersion:v9$/;
  for (const [what, text, want] of [
    ['empty', '', /^error reading GVK from response/],
    ['no JSON', 'password=geheim', /^error reading GVK from response/],
    ['a list', '["geheim"]', /^error reading GVK from response/],
    ['nested too deeply', '['.repeat(100_000), /^error reading GVK from response/],
    ['of another version', JSON.stringify(aResponse({ apiVersion: 'v9', x: 'geheim' })), wrongVersion],
    ['of another kind', JSON.stringify(aResponse({ kind: 'geheim' })), undecodable],
    ['with an unknown field', JSON.stringify(aResponse({ geheim: 1 })), undecodable],
    [
      'with an unknown type of cache key',
      JSON.stringify(aResponse({ cacheKeyType: 'Pod' })),
      /^credential provider plugin did not return a valid cacheKeyType: Pod$/,
    ],
    ['with a bad duration', JSON.stringify(aResponse({ cacheDuration: '1x' })), undecodable],
    ['with a duration that is a number', JSON.stringify(aResponse({ cacheDuration: 7 })), undecodable],
    ['with credentials that are a list', JSON.stringify(aResponse({ auth: ['geheim'] })), undecodable],
    ['with an entry that is text', JSON.stringify(aResponse({ auth: { r: 'geheim' } })), undecodable],
    ['with a password that is an object', JSON.stringify(aResponse({ auth: { r: { password: { geheim: 1 } } } })), undecodable],
    ['with an unknown field of an entry', JSON.stringify(aResponse({ auth: { r: { token: 'geheim' } } })), undecodable],
  ] as const) {
    row(what, () => {
      assert.throws(
        () => parseResponse(text, version),
        ({ message }: Error) => want.test(message) && !message.includes('geheim'),
      );
    });
  }
});
