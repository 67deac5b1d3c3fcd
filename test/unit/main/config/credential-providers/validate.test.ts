import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../../../src/main/config/credential-providers/read-config.ts';
import type { RawCredentialProvider, RawTokenAttributes } from '../../../../../src/main/config/credential-providers/schema.ts';
import { validateProviders } from '../../../../../src/main/config/credential-providers/validate.ts';
import { table } from '../../../../support/table.ts';

const v1 = 'credentialprovider.kubelet.k8s.io/v1';
const aProvider = (fields: Partial<RawCredentialProvider> = {}): RawCredentialProvider => ({
  name: 'plugin',
  matchImages: ['*.example:5000/team'],
  defaultCacheDuration: 0,
  apiVersion: v1,
  args: [],
  env: [],
  tokenAttributes: null,
  ...fields,
});
const someTokens = (fields: Partial<RawTokenAttributes> = {}): RawTokenAttributes => ({
  serviceAccountTokenAudience: 'registry',
  cacheType: 'Token',
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ['example.com/a'],
  optionalServiceAccountAnnotationKeys: ['example.com/B'],
  ...fields,
});
const tokens = (fields: Partial<RawTokenAttributes>) => aProvider({ tokenAttributes: someTokens(fields) });

test('valid providers have no errors', () => {
  const providers = [aProvider(), aProvider({ name: 'two', tokenAttributes: someTokens() })];
  assert.deepEqual(validateProviders(providers, true), []);
});

const path = 'providers.tokenAttributes';
const versions = [v1, `${v1}alpha1`, `${v1}beta1`].map((version) => `"${version}"`).join(', ');
table('an invalid provider has upstream’s error', (row) => {
  for (const [provider, want] of [
    [aProvider({ name: 'a/b' }), `providers.name: Invalid value: "a/b": provider name cannot contain '/'`],
    [aProvider({ name: 'a b' }), 'providers.name: Invalid value: "a b": provider name cannot contain spaces'],
    [aProvider({ name: '.' }), `providers.name: Invalid value: ".": provider name cannot be '.'`],
    [aProvider({ name: '..' }), `providers.name: Invalid value: "..": provider name cannot be '..'`],
    [aProvider({ name: '' }), 'providers.name: Required value'],
    [aProvider({ apiVersion: '' }), 'providers.apiVersion: Required value'],
    [aProvider({ apiVersion: 'v1' }), `providers.apiVersion: Unsupported value: "v1": supported values: ${versions}`],
    [aProvider({ matchImages: [] }), 'providers.matchImages: Required value: at least 1 item in matchImages is required'],
    [
      aProvider({ matchImages: ['r.example:port'] }),
      'providers.matchImages: Invalid value: "r.example:port": match image is invalid: parse "https://r.example:port": invalid host',
    ],
    [aProvider({ defaultCacheDuration: null }), 'providers.defaultCacheDuration: Required value'],
    [
      aProvider({ defaultCacheDuration: -1000 }),
      'providers.defaultCacheDuration: Invalid value: "-1s": must be greater than or equal to 0',
    ],
    [tokens({ serviceAccountTokenAudience: '' }), `${path}.serviceAccountTokenAudience: Required value`],
    [tokens({ requireServiceAccount: null }), `${path}.requireServiceAccount: Required value`],
    [
      tokens({ requireServiceAccount: false }),
      `${path}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set`,
    ],
    [tokens({ optionalServiceAccountAnnotationKeys: ['x', 'x'] }), `${path}.optionalServiceAccountAnnotationKeys: Duplicate value: "x"`],
    [
      tokens({ optionalServiceAccountAnnotationKeys: ['example.com/a'] }),
      `${path}: Invalid value: ["example.com/a"]: annotation keys cannot be both required and optional`,
    ],
    [
      tokens({ cacheType: '' }),
      `${path}.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token`,
    ],
    [tokens({ cacheType: 'Pod' }), `${path}.cacheType: Unsupported value: "Pod": supported values: "ServiceAccount", "Token"`],
    [{ ...tokens({}), apiVersion: `${v1}beta1` }, `${path}: Forbidden: tokenAttributes is only supported for ${v1} API version`],
  ] as const) {
    row(want, () => assert.deepEqual(validateProviders([provider], true), [want]));
  }
  row('no provider', () =>
    assert.deepEqual(validateProviders([], true), ['providers: Required value: at least 1 item in plugins is required']),
  );
  row('tokens without the gate', () => assert.match(validateProviders([tokens({})], false).join(), /feature gate is disabled$/));
});

const header = (version: string) => `apiVersion: kubelet.config.k8s.io/${version}\nkind: CredentialProviderConfig\n`;
const fields = 'name: p\n  matchImages: [r.example]\n  defaultCacheDuration: 10m\n  apiVersion: v\n  env: [{name: A, value: b}]\n';
table('a file is decoded strictly in its version', (row) => {
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    row(version, () => {
      const [provider] = decode(`${header(version)}providers:\n- ${fields}`);
      assert.equal(provider?.defaultCacheDuration, 600_000);
      assert.deepEqual(provider.env, [{ name: 'A', value: 'b' }]);
    });
  }
  for (const [what, text, want] of [
    ['an unknown field', `${header('v1')}providers:\n- nam: p\n`, /line 4: unknown field "providers\[0\].nam"/],
    ['a newer field in an older version', `${header('v1beta1')}providers:\n- tokenAttributes: {}\n`, /unknown field.*tokenAttributes/],
    ['another kind', 'apiVersion: kubelet.config.k8s.io/v1\nkind: Pod\n', /failed to decode "Pod" \(wrong Kind\)/],
    ['another version', header('v2'), /no kind "CredentialProviderConfig" is registered for version "kubelet.config.k8s.io\/v2"/],
    ['a bad duration', `${header('v1')}providers:\n- defaultCacheDuration: 5\n`, /defaultCacheDuration must be a duration/],
    ['text', 'geheim', /must be a map of fields/],
  ] as const) {
    row(`${what} is refused`, () => assert.throws(() => decode(text), want));
  }
});
