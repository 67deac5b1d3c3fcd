import assert from 'node:assert/strict';
import { PullTokens } from '../../../../src/main/objects/pull-tokens.ts';
import { TokenManager } from '../../../../src/main/objects/token-manager.ts';
import type { PullTokenRequest } from '../../../../src/shared/contracts/credential-providers.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { test } from 'node:test';

const account = '/api/v1/namespaces/ns/serviceaccounts/sa';
const aRequest = (fields: Partial<PullTokenRequest> = {}): PullTokenRequest => ({
  namespace: 'ns',
  serviceAccountName: 'sa',
  podName: 'web',
  podUID: 'pod-uid',
  audience: 'registry',
  requiredAnnotations: [],
  optionalAnnotations: [],
  ...fields,
});

function aCluster(annotations: Record<string, string> = {}) {
  const [clock, api] = [new FakeClock(), new FakeApi()];
  const due: string[] = [];
  const uid = { current: 'uid-1' };
  api.on('GET', account, () => ({ metadata: { name: 'sa', namespace: 'ns', uid: uid.current, annotations } }));
  api.on('POST', `${account}/token`, () => ({
    spec: { expirationSeconds: 3600 },
    status: { token: `token of ${uid.current}`, expirationTimestamp: new Date(clock.now() + 3_600_000).toISOString() },
  }));
  const tokens = new TokenManager({ client: api, clock, logger: aLogger().logger, random: () => 0, onDue: (pod) => due.push(pod) });
  const posts = () => api.calls.filter(({ method }) => method === 'POST').map(({ body }) => body);
  return { api, clock, due, uid, posts, pullTokens: new PullTokens(api, tokens) };
}

test('a token is bound to the pod and to the account’s UID, and reused while it is fresh', async () => {
  const { pullTokens, posts, uid, clock, due } = aCluster({ a: '1', b: '2', c: '3' });
  const request = aRequest({ requiredAnnotations: ['a'], optionalAnnotations: ['b', 'missing'] });
  const want = { outcome: 'granted', serviceAccountUID: 'uid-1', token: 'token of uid-1', annotations: { a: '1', b: '2' } };
  assert.deepEqual([await pullTokens.get(request), await pullTokens.get(request)], [want, want]);
  assert.deepEqual(posts(), [
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { uid: 'uid-1' },
      spec: {
        audiences: ['registry'],
        expirationSeconds: 3600,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'pod-uid' },
      },
    },
  ]);
  uid.current = 'uid-2';
  assert.equal((await pullTokens.get(request)).outcome, 'granted');
  assert.equal(posts().length, 2);
  await clock.advance(3_600_000);
  assert.deepEqual(due, [], 'a token of a pull wakes no pod');
});

test('an account without a required annotation gets no token', async () => {
  const { pullTokens, posts } = aCluster({ a: '1' });
  const reply = await pullTokens.get(aRequest({ requiredAnnotations: ['a', 'toString'] }));
  assert.deepEqual(reply, { outcome: 'missing annotation', annotation: 'toString' });
  assert.deepEqual(posts(), []);
});

test('an account or a token that cannot be read is an error', async () => {
  const { pullTokens, api } = aCluster();
  api.on('POST', `${account}/token`, () => apiError(500, 'InternalError'));
  await assert.rejects(pullTokens.get(aRequest()), /^Error: failed to get service account token: /);
  api.on('GET', account, () => apiError(404, 'NotFound'));
  await assert.rejects(pullTokens.get(aRequest()), /^Error: failed to get service account: /);
});
