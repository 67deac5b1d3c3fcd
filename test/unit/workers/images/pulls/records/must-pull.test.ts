import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRecordedAccess, requiresVerification } from '../../../../../../src/workers/images/pulls/records/must-pull.ts';
import {
  mergeCredentials,
  withoutTagAndDigest,
  type ImagePullCredentials,
  type ImagePulledRecord,
  type ImagePullSecret,
} from '../../../../../../src/workers/images/pulls/records/image-pulled-record.ts';
import { table } from '../../../../../support/table.ts';

table('records are keyed by the image name without tag and digest', (row) => {
  for (const [image, want] of [
    ['busybox', 'busybox'],
    ['busybox:1', 'busybox'],
    ['r.example:5000/team/app', 'r.example:5000/team/app'],
    ['r.example:5000/team/app:1@sha256:00', 'r.example:5000/team/app'],
    ['r.example/app@sha256:00', 'r.example/app'],
  ] as const) {
    row(`the record of ${image} has the key ${want}`, () => assert.equal(withoutTagAndDigest(image), want));
  }
});

const allowlist = ['r.example/base', 'preloaded.example/*'];
table('the policy decides whether a present image is verified', (row) => {
  for (const [name, image, pulled, want] of [
    ['NeverVerify', 'r.example/a', true, false],
    ['NeverVerifyPreloadedImages', 'r.example/a', false, false],
    ['NeverVerifyPreloadedImages', 'r.example/a', true, true],
    ['NeverVerifyAllowlistedImages', 'r.example/base:1', true, false],
    ['NeverVerifyAllowlistedImages', 'preloaded.example/x/y@sha256:00', true, false],
    ['NeverVerifyAllowlistedImages', 'r.example/base/more', false, true],
    ['AlwaysVerify', 'r.example/a', false, true],
  ] as const) {
    row(`${name}: ${image}, ${pulled ? 'pulled' : 'not pulled'} by the kubelet, is ${want ? '' : 'not '}verified`, () => {
      assert.equal(requiresVerification({ name, allowlist }, image, pulled), want);
    });
  }
});

const aSecret = (name: string, credentialHash = `hash-${name}`): ImagePullSecret => ({
  uid: `u-${name}`,
  namespace: 'ns',
  name,
  credentialHash,
});
const aRecord = (credentials: ImagePullCredentials): ImagePulledRecord => ({
  lastUpdatedTime: '2026-01-01T00:00:00Z',
  imageRef: 'sha256:1',
  credentialMapping: { 'r.example/a': credentials },
});
const bySecret = aRecord({ kubernetesSecrets: [aSecret('one')] });
const sameCredentials = aSecret('two', 'hash-one');
const rotated = aSecret('one', 'new');
const many = aRecord({ kubernetesSecrets: Array.from({ length: 100 }, (_, index) => aSecret(String(index))) });

table('a record decides who may use a present image', (row) => {
  for (const [who, record, secrets, want] of [
    ['no pod without a record', undefined, [aSecret('one')], { mustPull: true }],
    ['no pod with a record under another name', { ...bySecret, credentialMapping: { other: {} } }, [aSecret('one')], { mustPull: true }],
    ['no pod with an empty record', aRecord({}), [aSecret('one')], { mustPull: true }],
    ['every pod after an anonymous pull', aRecord({ nodePodsAccessible: true }), [], { mustPull: false }],
    ['a pod with the same secret', bySecret, [aSecret('one')], { mustPull: false }],
    [
      'a pod with the same credentials in another secret, which is recorded',
      bySecret,
      [sameCredentials],
      { mustPull: false, secretToRecord: sameCredentials },
    ],
    ['a pod whose secret has new credentials, which are recorded', bySecret, [rotated], { mustPull: false, secretToRecord: rotated }],
    ['no pod with another secret', bySecret, [aSecret('three')], { mustPull: true }],
    ['no pod without a secret', bySecret, [], { mustPull: true }],
    ['a pod with the same credentials, without more than a hundred recorded secrets', many, [aSecret('x', 'hash-7')], { mustPull: false }],
    ['no pod with an empty hash', aRecord({ kubernetesSecrets: [aSecret('one', '')] }), [aSecret('two', '')], { mustPull: true }],
  ] as const) {
    row(`a present image is accessible for ${who}`, async () => {
      const pod = { secrets: () => secrets, serviceAccount: () => Promise.reject(new Error('no service account is recorded')) };
      assert.deepEqual(await checkRecordedAccess(record, 'r.example/a:1', pod), want);
    });
  }
});

const anAccount = (name: string) => ({ uid: `u-${name}`, namespace: 'ns', name });
table('a record of a service account decides who may use a present image', (row) => {
  const record = aRecord({ kubernetesServiceAccounts: [anAccount('one')] });
  for (const [who, account, secrets, mustPull] of [
    ['a pod of the same account', anAccount('one'), [], false],
    ['no pod of another account', anAccount('two'), [], true],
    ['no pod of a new account of the same name', { ...anAccount('one'), uid: 'new' }, [], true],
    ['no pod without credentials of a plugin', undefined, [aSecret('one')], true],
  ] as const) {
    row(who, async () => {
      const pod = { secrets: () => secrets, serviceAccount: async () => account };
      assert.deepEqual(await checkRecordedAccess(record, 'r.example/a:1', pod), { mustPull });
    });
  }
});

const now = '2026-02-02T00:00:00Z';
test('a record adds a new secret once', () => {
  const two = mergeCredentials(bySecret, 'r.example/a', { kubernetesSecrets: [aSecret('a')] }, now);
  assert.deepEqual(two.credentialMapping?.['r.example/a'], { kubernetesSecrets: [aSecret('a'), aSecret('one')] });
  assert.equal(two.lastUpdatedTime, now);
  assert.equal(mergeCredentials(two, 'r.example/a', { kubernetesSecrets: [aSecret('one')] }, 'later'), two);
  const all = mergeCredentials(two, 'r.example/a', { nodePodsAccessible: true }, now);
  assert.deepEqual(all.credentialMapping?.['r.example/a'], { nodePodsAccessible: true });
  assert.equal(mergeCredentials(all, 'r.example/a', { kubernetesSecrets: [aSecret('b')] }, 'later'), all);
  assert.equal(mergeCredentials(all, 'r.example/b', {}, 'later'), all);
  assert.deepEqual(mergeCredentials(all, 'r.example/b', { kubernetesSecrets: [aSecret('b')] }, now).credentialMapping, {
    'r.example/a': { nodePodsAccessible: true },
    'r.example/b': { kubernetesSecrets: [aSecret('b')] },
  });
});

test('a record adds service accounts beside secrets', () => {
  const both = mergeCredentials(bySecret, 'r.example/a', { kubernetesServiceAccounts: [anAccount('b')] }, now);
  const sorted = mergeCredentials(both, 'r.example/a', { kubernetesServiceAccounts: [anAccount('a')] }, now);
  assert.deepEqual(sorted.credentialMapping?.['r.example/a'], {
    kubernetesSecrets: [aSecret('one')],
    kubernetesServiceAccounts: [anAccount('a'), anAccount('b')],
  });
  assert.equal(mergeCredentials(sorted, 'r.example/a', { kubernetesServiceAccounts: [anAccount('a')] }, 'later'), sorted);
});
