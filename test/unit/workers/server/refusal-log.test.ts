import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalLog } from '../../../../src/workers/server/refusal-log.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

test('ten refusals per second are logged, and the next entry has the number of omitted ones', async () => {
  const clock = new FakeClock();
  const log = aLogger();
  const refusals = new RefusalLog(log.logger, clock);
  for (let i = 0; i < 1000; i += 1) refusals.info({ i }, 'request refused');
  assert.equal(log.lines.length, 10);
  await clock.advance(1_000);
  refusals.info({}, 'request refused');
  assert.equal(log.lines.at(-1)?.['omittedBefore'], 990);
});
