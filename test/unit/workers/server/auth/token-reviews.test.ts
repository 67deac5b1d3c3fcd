import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenReviewStatus } from '../../../../../src/shared/contracts/server/calls.ts';
import { TokenReviews, type TokenBearer } from '../../../../../src/workers/server/auth/token-reviews.ts';
import type { AuthenticationResult } from '../../../../../src/workers/server/auth/user.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const invalid: TokenReviewStatus = { authenticated: false, error: '[invalid bearer token, token lookup failed]' };
const valid: TokenReviewStatus = { authenticated: true, user: { username: 'jane' } };
const from = (address: string): TokenBearer => ({ address, isDisconnected: () => false });

/** An API server whose responses the test controls. */
function aReviewer(cacheTTLMs = 120_000) {
  const clock = new FakeClock();
  const requested: string[] = [];
  const answers = new Map<string, PromiseWithResolvers<TokenReviewStatus>>();
  const reviewToken = (token: string) => {
    requested.push(token);
    const answer = Promise.withResolvers<TokenReviewStatus>();
    answers.set(token, answer);
    return answer.promise;
  };
  const reviews = new TokenReviews({ reviewToken, cacheTTLMs, clock });
  const answer = async (token: string, status: TokenReviewStatus) => {
    await settle();
    answers.get(token)!.resolve(status);
    await settle();
  };
  return { clock, requested, reviews, answer };
}
const randomTokens = (count: number, prefix = 'random') => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test('a token that the API server refuses with an error is refused without another review, for ten seconds', async () => {
  const { clock, requested, reviews, answer } = aReviewer();
  const authenticate = () => reviews.authenticate('bad', from('1'));
  const first = authenticate();
  await answer('bad', invalid);
  assert.equal((await first).type, 'error');
  assert.equal((await authenticate()).type, 'error');
  assert.equal(requested.length, 1);
  await clock.advance(10_000);
  void authenticate();
  await settle();
  assert.equal(requested.length, 2);
});

test('invalid tokens do not evict accepted ones from the cache', async () => {
  const { requested, reviews, answer } = aReviewer();
  const good = reviews.authenticate('good', from('1'));
  await answer('good', valid);
  await good;
  for (const token of randomTokens(10_000)) {
    void reviews.authenticate(token, from('2'));
    await answer(token, invalid);
  }
  const before = requested.length;
  assert.equal((await reviews.authenticate('good', from('1'))).type, 'user');
  assert.equal(requested.length, before);
});

test('in a flood, few reviews run, another address is served next, and excess tokens are refused immediately', async () => {
  const { requested, reviews, answer } = aReviewer();
  const verdicts: AuthenticationResult[] = [];
  for (const token of randomTokens(100)) void reviews.authenticate(token, from('flooder')).then((verdict) => verdicts.push(verdict));
  await settle();
  assert.equal(requested.length, 8);
  assert.deepEqual(
    verdicts.map(({ type }) => type),
    Array(60).fill('busy'),
  );
  void reviews.authenticate('fresh', from('other'));
  await answer('random-0', invalid);
  await answer('random-1', invalid);
  assert.deepEqual(requested.slice(8), ['random-8', 'fresh']);
});

test('a token that was accepted before skips the queue, also after its result has expired', async () => {
  const { clock, requested, reviews, answer } = aReviewer();
  void reviews.authenticate('good', from('1'));
  await answer('good', valid);
  await clock.advance(200_000);
  for (const token of randomTokens(100)) void reviews.authenticate(token, from('1'));
  void reviews.authenticate('good', from('1'));
  await settle();
  assert.equal(requested.filter((token) => token === 'good').length, 2);
});

test('a wait in the queue ends after five seconds, and disconnected clients cause no review', async () => {
  const { clock, requested, reviews, answer } = aReviewer();
  for (const token of randomTokens(8)) void reviews.authenticate(token, from('1'));
  let disconnected = false;
  void reviews.authenticate('left', { address: '2', isDisconnected: () => disconnected });
  const stays = reviews.authenticate('stays', from('3'));
  disconnected = true;
  await answer('random-0', invalid);
  assert.equal(requested.at(-1), 'stays');
  const late = reviews.authenticate('late', from('4'));
  await clock.advance(5_000);
  assert.equal((await late).type, 'busy');
  await answer('stays', valid);
  assert.equal((await stays).type, 'user');
});

test('a client that disconnects does not cancel the review of another client', async () => {
  const { requested, reviews, answer } = aReviewer();
  for (const token of randomTokens(8)) void reviews.authenticate(token, from('1'));
  void reviews.authenticate('shared', { address: '2', isDisconnected: () => true });
  const verdict = reviews.authenticate('shared', from('3'));
  await answer('random-0', invalid);
  await answer('shared', valid);
  assert.equal((await verdict).type, 'user');
  assert.deepEqual(requested.slice(8), ['shared']);
});

test('a token that is too long is not sent to the API server', async () => {
  const { requested, reviews } = aReviewer();
  assert.equal((await reviews.authenticate('x'.repeat(60_000), from('1'))).type, 'error');
  assert.equal(requested.length, 0);
});
