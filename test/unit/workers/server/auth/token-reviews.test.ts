import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenReviewStatus } from '../../../../../src/shared/contracts/server/calls.ts';
import { TokenReviews, type TokenBearer } from '../../../../../src/workers/server/auth/token-reviews.ts';
import type { AuthenticationResult } from '../../../../../src/workers/server/auth/user.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const invalid: TokenReviewStatus = { authenticated: false, error: '[invalid bearer token, token lookup failed]' };
const valid: TokenReviewStatus = { authenticated: true, user: { username: 'jane' } };
const from = (address: string): TokenBearer => ({ address, isDisconnected: () => false });

/** An API server that answers when the test says so. */
function aReviewer(cacheTTLMs = 120_000) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const answers = new Map<string, PromiseWithResolvers<TokenReviewStatus>>();
  const reviewToken = (token: string) => {
    asked.push(token);
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
  return { clock, asked, reviews, answer };
}
const invented = (count: number, prefix = 'invented') => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test('a token that the API server refuses with an error is refused without another review, for ten seconds', async () => {
  const { clock, asked, reviews, answer } = aReviewer();
  const judge = () => reviews.authenticate('bad', from('1'));
  const first = judge();
  await answer('bad', invalid);
  assert.equal((await first).type, 'error');
  assert.equal((await judge()).type, 'error');
  assert.equal(asked.length, 1);
  await clock.advance(10_000);
  void judge();
  await settle();
  assert.equal(asked.length, 2);
});

test('invented tokens displace no good one', async () => {
  const { asked, reviews, answer } = aReviewer();
  const good = reviews.authenticate('good', from('1'));
  await answer('good', valid);
  await good;
  for (const token of invented(10_000)) {
    void reviews.authenticate(token, from('2'));
    await answer(token, invalid);
  }
  const before = asked.length;
  assert.equal((await reviews.authenticate('good', from('1'))).type, 'user');
  assert.equal(asked.length, before);
});

test('in a flood, few reviews are under way, one of another address is next, and what is too much is refused at once', async () => {
  const { asked, reviews, answer } = aReviewer();
  const verdicts: AuthenticationResult[] = [];
  for (const token of invented(100)) void reviews.authenticate(token, from('flooder')).then((verdict) => verdicts.push(verdict));
  await settle();
  assert.equal(asked.length, 8);
  assert.deepEqual(
    verdicts.map(({ type }) => type),
    Array(60).fill('busy'),
  );
  void reviews.authenticate('fresh', from('other'));
  await answer('invented-0', invalid);
  await answer('invented-1', invalid);
  assert.deepEqual(asked.slice(8), ['invented-8', 'fresh']);
});

test('a token that was good before passes the flood by, when its verdict has expired too', async () => {
  const { clock, asked, reviews, answer } = aReviewer();
  void reviews.authenticate('good', from('1'));
  await answer('good', valid);
  await clock.advance(200_000);
  for (const token of invented(100)) void reviews.authenticate(token, from('1'));
  void reviews.authenticate('good', from('1'));
  await settle();
  assert.equal(asked.filter((token) => token === 'good').length, 2);
});

test('nobody waits in the queue for longer than five seconds, and for those who left nothing is asked', async () => {
  const { clock, asked, reviews, answer } = aReviewer();
  for (const token of invented(8)) void reviews.authenticate(token, from('1'));
  let isGone = false;
  void reviews.authenticate('left', { address: '2', isDisconnected: () => isGone });
  const stays = reviews.authenticate('stays', from('3'));
  isGone = true;
  await answer('invented-0', invalid);
  assert.equal(asked.at(-1), 'stays');
  const late = reviews.authenticate('late', from('4'));
  await clock.advance(5_000);
  assert.equal((await late).type, 'busy');
  await answer('stays', valid);
  assert.equal((await stays).type, 'user');
});

test('one bearer that leaves takes no review from another', async () => {
  const { asked, reviews, answer } = aReviewer();
  for (const token of invented(8)) void reviews.authenticate(token, from('1'));
  void reviews.authenticate('shared', { address: '2', isDisconnected: () => true });
  const verdict = reviews.authenticate('shared', from('3'));
  await answer('invented-0', invalid);
  await answer('shared', valid);
  assert.equal((await verdict).type, 'user');
  assert.deepEqual(asked.slice(8), ['shared']);
});

test('a token that no issuer makes so long is not sent to the API server', async () => {
  const { asked, reviews } = aReviewer();
  assert.equal((await reviews.authenticate('x'.repeat(60_000), from('1'))).type, 'error');
  assert.equal(asked.length, 0);
});
