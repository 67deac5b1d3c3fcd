import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOwnership, type HelperClient } from '../../../../src/shared/helper-client/index.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const request = { path: '/v', fsGroup: 2000, readOnly: false, onlyOnRootMismatch: false };
const reply = { failures: 0, firstFailure: null, unreadable: null };

test('a walk that takes long is reported after half a minute, then each minute with its files, and no more after its end', async () => {
  const clock = new FakeClock();
  const walk = Promise.withResolvers<typeof reply>();
  let advanceTo: ((files: number) => void) | undefined;
  const helper = {
    call: ((_operation: string, _request: unknown, limits: { onProgress: (files: number) => void }) => {
      advanceTo = limits.onProgress;
      return walk.promise;
    }) as unknown as HelperClient['call'],
  };
  const reports: (number | null)[] = [];
  const ended = changeOwnership(helper, request, { watch: { clock, onSlow: (files) => reports.push(files) } });
  await clock.advance(29_999);
  assert.deepEqual(reports, []);
  await clock.advance(1);
  assert.deepEqual(reports, [null]);
  advanceTo?.(1000);
  await clock.advance(60_000);
  advanceTo?.(2500);
  await clock.advance(60_000);
  assert.deepEqual(reports, [null, 1000, 2500]);
  walk.resolve(reply);
  assert.deepEqual(await ended, reply);
  await settle();
  await clock.advance(600_000);
  assert.equal(reports.length, 3);
});

test('a walk that ends in time, or fails, is not reported', async () => {
  const clock = new FakeClock();
  const watch = { clock, onSlow: () => assert.fail('reported') };
  const helper = (result: Promise<unknown>) => ({ call: (() => result) as unknown as HelperClient['call'] });
  await changeOwnership(helper(Promise.resolve(reply)), request, { watch });
  await assert.rejects(changeOwnership(helper(Promise.reject(new Error('gone'))), request, { watch }), /gone/);
  await clock.advance(600_000);
});
