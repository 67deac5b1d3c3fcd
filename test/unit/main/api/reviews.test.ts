import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReviews } from '../../../../src/main/api/reviews.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../src/shared/metrics/index.ts';
import { definitions } from '../../../../src/shared/metrics/definitions/all-definitions.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const tokenReviews = '/apis/authentication.k8s.io/v1/tokenreviews';
const accessReviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

test('a token review returns the status of the API server', async () => {
  const status = { authenticated: true, user: { username: 'jane', groups: ['system:authenticated'] } };
  const api = new FakeApi().on('POST', tokenReviews, { kind: 'TokenReview', status });
  const reviews = createReviews(api, new FakeClock());
  assert.deepEqual(await reviews.reviewToken('secret', ['https://kubernetes.default.svc']), status);
  assert.deepEqual(api.calls[0]?.body, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 'secret', audiences: ['https://kubernetes.default.svc'] },
  });
});

test('a failed review is retried, with five attempts in total', async () => {
  const clock = new FakeClock();
  const api = new FakeApi()
    .once('POST', tokenReviews, apiError(500, 'InternalError'))
    .on('POST', tokenReviews, { status: { authenticated: false } });
  const review = createReviews(api, clock, () => 0).reviewToken('x');
  await clock.advance(500);
  assert.deepEqual(await review, { authenticated: false });
  const down = new FakeApi().on('POST', tokenReviews, apiError(0, 'Unreachable'));
  const failed = assert.rejects(createReviews(down, clock, () => 0).reviewToken('x'), { reason: 'Unreachable' });
  await clock.advance(5_000);
  await failed;
  assert.equal(down.calls.length, 5);
});

test('each attempt of a review is counted by its status code', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const clock = new FakeClock();
  const api = new FakeApi()
    .once('POST', tokenReviews, apiError(500, 'InternalError'))
    .on('POST', tokenReviews, { status: { authenticated: false } })
    .on('POST', accessReviews, apiError(0, 'Refused'));
  const { reviewToken, reviewAccess } = createReviews(api, clock, () => 0);
  const review = reviewToken('x');
  await clock.advance(500);
  await review;
  await assert.rejects(
    reviewAccess({ user: 'jane', resourceAttributes: { verb: '', version: 'v1', resource: 'nodes', subresource: '', name: 'n' } }),
  );
  const text = renderMetrics([segment], definitions);
  const lines = text.split('\n').filter((line) => /^apiserver_delegated_\w+(_total|_count)\{/.test(line));
  assert.deepEqual(lines.sort(), [
    'apiserver_delegated_authn_request_duration_seconds_count{code="201"} 1',
    'apiserver_delegated_authn_request_duration_seconds_count{code="500"} 1',
    'apiserver_delegated_authn_request_total{code="201"} 1',
    'apiserver_delegated_authn_request_total{code="500"} 1',
    'apiserver_delegated_authz_request_duration_seconds_count{code="<error>"} 1',
    'apiserver_delegated_authz_request_total{code="<error>"} 1',
  ]);
});

test('a forbidden review is not retried', async () => {
  const api = new FakeApi().on('POST', accessReviews, apiError(403, 'Forbidden'));
  const resourceAttributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'metrics', name: 'n' };
  await assert.rejects(createReviews(api, new FakeClock()).reviewAccess({ user: 'jane', resourceAttributes }), { code: 403 });
  assert.equal(api.calls.length, 1);
});

test('a hanging review fails after ten seconds', async () => {
  const clock = new FakeClock();
  const api = new FakeApi();
  api.deferResponse('POST', accessReviews);
  const resourceAttributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'log', name: 'n' };
  const review = assert.rejects(createReviews(api, clock).reviewAccess({ user: 'jane', resourceAttributes }), { reason: 'Timeout' });
  await clock.advance(10_000);
  await review;
});
