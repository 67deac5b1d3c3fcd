/** What a run makes of attempts that this node has disturbed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID } from '../../../../src/shared/kubernetes/ids.ts';
import { ProbeRun, type RunResult } from '../../../../src/workers/probes/run-probe.ts';
import { LoopDelay } from '../../../../src/workers/probes/schedule/loop-delay.ts';
import { TimerQueue } from '../../../../src/workers/probes/schedule/timer-queue.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

/** Each attempt times out after the thread did not run for `delayedMs` of its second. */
async function run(delayedMs: number): Promise<{ readonly outcome: RunResult['outcome']; readonly attempts: number }> {
  const loopDelay = new LoopDelay();
  const { logger } = aLogger();
  const timers = new TimerQueue({ clock: new FakeClock(), logger });
  let attempts = 0;
  const ended = Promise.withResolvers<RunResult>();
  const probeRun = new ProbeRun(
    {
      timers,
      loopDelay,
      logger,
      startAttempt: (_, done) => {
        attempts += 1;
        setImmediate(() => {
          loopDelay.observe(delayedMs);
          done({ outcome: 'failure', output: 'timeout', doubt: 'time' });
        });
        return { timeOut() {}, cancel() {} };
      },
    },
    'liveness',
    { action: { type: 'tcp', host: '192.0.2.1', port: 80 }, containerID: 'c' as ContainerID, timeoutSeconds: 1 },
    ended.resolve,
  );
  const { outcome } = await ended.promise;
  probeRun.cancel();
  return { outcome, attempts };
}

test('a timeout on a thread that runs counts at once', async () => {
  assert.deepEqual(await run(50), { outcome: 'failure', attempts: 1 });
});

test('a container that never answers a thread that is late all the time has failed', async () => {
  assert.deepEqual(await run(150), { outcome: 'failure', attempts: 4 });
});

test('a thread that hardly runs decides nothing', async () => {
  assert.deepEqual(await run(600), { outcome: null, attempts: 4 });
});
