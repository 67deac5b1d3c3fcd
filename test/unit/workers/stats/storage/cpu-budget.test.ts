import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuBudget } from '../../../../../src/workers/stats/storage/cpu-budget.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

test('the budget lets work wait until its share of the time is not exceeded', async () => {
  const clock = new FakeClock();
  const budget = new CpuBudget(0.05, clock);
  assert.equal(budget.waitMs, 0);
  // What was saved in the past is two seconds: 100 ms of work.
  budget.spend(100);
  assert.equal(budget.waitMs, 0);
  budget.spend(20);
  assert.equal(budget.waitMs, 400);
  await clock.advance(400);
  assert.equal(budget.waitMs, 0);
  budget.spend(20);
  await clock.advance(60_000);
  budget.spend(120);
  assert.equal(budget.waitMs, 400);
});
