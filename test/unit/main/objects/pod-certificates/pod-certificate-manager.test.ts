import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PodCertificates } from '../../../../../src/main/objects/pod-certificates/index.ts';
import type { RecordedEvent } from '../../../../../src/shared/contracts/event.ts';
import type { Volume } from '../../../../../src/shared/kubernetes/api.ts';
import { podCertificateStates } from '../../../../../src/shared/metrics/definitions/volumes.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { apiError, FakeApi, type FakeWatch } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { aPod } from '../../../../support/pods/pods.ts';

const minuteMs = 60_000;
const accountPath = '/api/v1/namespaces/default/serviceaccounts/sa';
const requestsPath = '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests';
const watchPath = '/apis/certificates.k8s.io/v1/podcertificaterequests';
const listEnd = { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } };
const volume: Volume = {
  name: 'id',
  projected: {
    sources: [{ secret: { name: 's' } }, { podCertificate: { signerName: 'example.com/s', keyType: 'ED25519', keyPath: 'key' } }],
  },
};
const pod = aPod({ spec: { serviceAccountName: 'sa', volumes: [{ name: 'tmp', emptyDir: {} }, volume] } });

function someCertificates() {
  const clock = new FakeClock();
  const api = new FakeApi();
  const changed: string[][] = [];
  const events: RecordedEvent[] = [];
  const { logger, lines } = aLogger();
  const node: { uid: string | undefined } = { uid: 'node-uid' };
  let generatedKeys = 0;
  let version = 1;
  api.on('GET', accountPath, { metadata: { name: 'sa', uid: 'sa-uid' } });
  api.on('POST', requestsPath, () => ({ metadata: { namespace: 'default', name: `req-${generatedKeys}`, uid: `r-${generatedKeys}` } }));
  const certificates = new PodCertificates({
    client: api,
    nodeName: 'n1',
    nodeUID: () => node.uid,
    events: { record: (event) => events.push(event) },
    onChanged: (uids) => changed.push([...uids]),
    generateKey: async () => ({ keyPEM: `secret-${(generatedKeys += 1)}`, stubRequest: Buffer.from('csr') }),
    clock,
    logger,
    random: () => 0,
  });
  const get = () => certificates.getCredentialBundle('uid-web', 'id', 1);
  const synced = async (): Promise<FakeWatch> => {
    const watch = await api.nextWatch(watchPath);
    watch.push('BOOKMARK', listEnd);
    await settle();
    return watch;
  };
  /** Issues request `n` with a lifetime of an hour and a renewal after half of it. */
  const answer = async (watch: FakeWatch, n: number, condition: object = { type: 'Issued' }, type: 'ADDED' | 'DELETED' = 'ADDED') => {
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    const certificateChain = `-----BEGIN CERTIFICATE-----\n${Buffer.from(`chain-${n}`).toString('base64')}\n-----END CERTIFICATE-----\n`;
    watch.push(type, {
      metadata: { namespace: 'default', name: `req-${n}`, uid: `r-${n}`, resourceVersion: String((version += 1)) },
      spec: { podUID: 'uid-web' },
      status: { conditions: [condition], certificateChain, beginRefreshAt: at(30 * minuteMs), notAfter: at(60 * minuteMs) },
    });
    await settle();
  };
  const requestCount = () => api.callsTo('POST', requestsPath).length;
  return { clock, api, changed, events, lines, node, certificates, get, synced, answer, requestCount };
}

test('a new pod’s certificate is requested at once, and the result notifies the pod', async () => {
  const { api, certificates, changed, get, synced, answer } = someCertificates();
  certificates.trackPod(pod, { isRunning: false });
  const watch = await synced();
  assert.equal(watch.call.query?.fieldSelector, 'spec.nodeName=n1');
  assert.partialDeepStrictEqual(api.callsTo('POST', requestsPath)[0]?.body, {
    spec: { signerName: 'example.com/s', podUID: 'uid-web', serviceAccountUID: 'sa-uid', nodeName: 'n1', nodeUID: 'node-uid' },
  });
  const waiting = get();
  assert.equal(certificates.areIssued('uid-web'), false);
  await answer(watch, 1);
  assert.deepEqual(changed, [['uid-web']]);
  const { keyPEM, chainPEM } = await waiting;
  assert.equal(keyPEM, 'secret-1');
  assert.match(chainPEM, /^-----BEGIN CERTIFICATE-----\nY2hhaW4tMQ==\n/);
  assert.equal(certificates.areIssued('uid-web'), true);
  await certificates.close();
});

test('a node without such pods does not watch requests', async () => {
  const { api, certificates } = someCertificates();
  certificates.trackPod(aPod(), { isRunning: false });
  await settle();
  assert.deepEqual([api.watches.length, api.calls.length], [0, 0]);
  assert.equal(certificates.areIssued('uid-web'), true);
  await assert.rejects(certificates.getCredentialBundle('uid-web', 'id', 1), { reason: 'NotFound' });
  await certificates.close();
});

test('a request for an unissued certificate fails after one second with the cause', async () => {
  const { clock, api, certificates, get, synced } = someCertificates();
  api.on('POST', requestsPath, apiError(403, 'Forbidden', 'no such pod here'));
  certificates.trackPod(pod, { isRunning: false });
  await synced();
  const rejected = assert.rejects(get(), {
    message: 'credential bundle is not issued yet: while creating PodCertificateRequest: no such pod here',
  });
  await clock.advance(1000);
  await rejected;
  api.on('POST', requestsPath, { metadata: { namespace: 'default', name: 'req-1', uid: 'r-1' } });
  await clock.advance(minuteMs);
  const quiet = assert.rejects(get(), { reason: 'NotIssued', message: 'credential bundle is not issued yet' });
  await clock.advance(1000);
  await quiet;
  await certificates.close();
});

test('a missing service account or unknown Node fails the request, which is retried', async () => {
  const { clock, api, certificates, node, synced, requestCount, lines } = someCertificates();
  node.uid = undefined;
  api.once('GET', accountPath, apiError(404, 'NotFound', 'serviceaccounts "sa" not found'));
  certificates.trackPod(pod, { isRunning: false });
  await synced();
  await clock.advance(1000);
  assert.equal(requestCount(), 0);
  node.uid = 'node-uid';
  await clock.advance(minuteMs);
  assert.equal(requestCount(), 1);
  const errors = lines.filter(({ msg }) => msg === 'A certificate could not be requested').map(({ err }) => err);
  assert.deepEqual(errors.slice(0, 2), ['while fetching service account: serviceaccounts "sa" not found', 'the Node n1 is not known yet']);
  await certificates.close();
});

test('a due certificate is renewed, and is used until the next one is issued', async () => {
  const { clock, certificates, changed, get, synced, answer, requestCount } = someCertificates();
  certificates.trackPod(pod, { isRunning: true });
  const watch = await synced();
  await answer(watch, 1);
  await clock.advance(30 * minuteMs - 1);
  assert.equal(requestCount(), 1);
  await clock.advance(1);
  assert.equal(requestCount(), 2);
  assert.equal((await get()).keyPEM, 'secret-1');
  await answer(watch, 2);
  assert.equal((await get()).keyPEM, 'secret-2');
  assert.deepEqual(changed, [['uid-web'], ['uid-web']]);
  await certificates.close();
});

test('without a signer the pod gets one overdue and one expired event', async () => {
  const { clock, certificates, events, get, synced, answer } = someCertificates();
  certificates.trackPod(pod, { isRunning: true });
  const watch = await synced();
  await answer(watch, 1);
  await clock.advance(41 * minuteMs);
  await clock.advance(61 * minuteMs);
  assert.deepEqual(
    events.map(({ type, reason, message }) => [type, reason, message]),
    [
      ['Warning', 'CertificateOverdueForRefresh', 'PodCertificate refresh overdue'],
      ['Warning', 'CertificateExpired', 'PodCertificate expired'],
    ],
  );
  assert.equal((await get()).keyPEM, 'secret-1');
  await certificates.close();
});

for (const [type, what] of [
  ['Denied', 'was denied'],
  ['Failed', 'failed'],
] as const) {
  test(`a request that ${what} records an event, fails every sync and is not created again`, async () => {
    const { clock, certificates, changed, events, get, synced, answer, requestCount } = someCertificates();
    certificates.trackPod(pod, { isRunning: false });
    const watch = await synced();
    await answer(watch, 1, { type, reason: 'UnsupportedKeyType', message: 'use "RSA"' });
    const why = 'reason="UnsupportedKeyType" message="use \\"RSA\\""';
    await assert.rejects(get(), { reason: type, message: `PodCertificateRequest was permanently ${type.toLowerCase()}: ${why}` });
    assert.deepEqual(changed, [['uid-web']]);
    const message = `PodCertificateRequest default/req-1 ${what}, reason="UnsupportedKeyType", message="use \\"RSA\\""`;
    assert.partialDeepStrictEqual(events, [{ object: { kind: 'Pod', uid: 'uid-web' }, type: 'Warning', reason: type, message }]);
    await clock.advance(24 * 60 * minuteMs);
    assert.deepEqual([requestCount(), events.length], [1, 1]);
    await certificates.close();
  });
}

test('a deleted request is created again after ten minutes', async () => {
  const { clock, certificates, synced, answer, requestCount } = someCertificates();
  certificates.trackPod(pod, { isRunning: false });
  const watch = await synced();
  await answer(watch, 1, { type: 'Pending' });
  await answer(watch, 1, { type: 'Pending' }, 'DELETED');
  await clock.advance(10 * minuteMs);
  assert.equal(requestCount(), 1);
  await clock.advance(1);
  assert.equal(requestCount(), 2);
  await certificates.close();
});

test('before the first list no request counts as deleted', async () => {
  const { clock, api, certificates, requestCount } = someCertificates();
  certificates.trackPod(pod, { isRunning: false });
  await api.nextWatch(watchPath);
  await clock.advance(15 * minuteMs);
  assert.equal(requestCount(), 1);
  await certificates.close();
});

test('nothing is requested or recorded for a forgotten pod', async () => {
  const { clock, api, certificates, changed, events, synced, answer, requestCount } = someCertificates();
  const held = api.deferResponse('GET', accountPath);
  certificates.trackPod(pod, { isRunning: false });
  const watch = await synced();
  certificates.forgetPod('uid-web');
  held.reject(apiError(404, 'NotFound', 'gone'));
  await clock.advance(60 * minuteMs);
  assert.equal(requestCount(), 0);
  certificates.trackPod(pod, { isRunning: false });
  await settle();
  await answer(watch, 1);
  certificates.forgetPod('uid-web');
  await clock.advance(24 * 60 * minuteMs);
  assert.deepEqual([requestCount(), changed.length, events.length], [1, 1, 0]);
  await certificates.close();
});

test('keys are never logged', async () => {
  const { certificates, lines, synced, answer } = someCertificates();
  certificates.trackPod(pod, { isRunning: false });
  await answer(await synced(), 1);
  await certificates.close();
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
});

describe('the gauge of pod certificates', () => {
  const segment = createMetricsSegment();
  const shown = () =>
    renderMetrics([segment], [podCertificateStates])
      .split('\n')
      .filter((line) => line.startsWith('kubelet_'));
  before(() => bindMetrics(segment));
  after(() => bindMetrics(null));

  test('has a series per signer and state', async () => {
    const { clock, certificates, synced, answer } = someCertificates();
    certificates.trackPod(pod, { isRunning: false });
    const watch = await synced();
    const series = (state: string) => [`kubelet_podcertificate_states{signer_name="example.com/s",state="${state}"} 1`];
    assert.deepEqual(shown(), series('not_yet_issued'));
    await answer(watch, 1);
    assert.deepEqual(shown(), series('fresh'));
    await clock.advance(40 * minuteMs + 1);
    assert.deepEqual(shown(), series('overdue_for_refresh'));
    certificates.forgetPod('uid-web');
    assert.deepEqual(shown(), []);
    await certificates.close();
  });
});
