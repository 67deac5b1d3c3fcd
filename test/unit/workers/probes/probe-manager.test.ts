/** Schedule, gates and results of the probes of pods, with attempts that the test answers and a clock that it advances. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProbeNotification, ProbeSpec, ProbeType } from '../../../../src/shared/contracts/probes.ts';
import type { ContainerID } from '../../../../src/shared/kubernetes/ids.ts';
import type { AttemptResult } from '../../../../src/workers/probes/actions/attempt.ts';
import type { StartAttempt } from '../../../../src/workers/probes/actions/start-attempt.ts';
import { ProbeWorkers, type ProbeWorkersOptions } from '../../../../src/workers/probes/probe-manager.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { probedContainer, probedPod } from '../../../support/probes/probed-pod.ts';

const success: AttemptResult = { outcome: 'success', output: '' };
const failure: AttemptResult = { outcome: 'failure', output: 'no' };
const error: AttemptResult = { outcome: 'unknown', output: 'broken', isError: true };

interface Started {
  /** The time in seconds since the thread's start, and the probe. */
  readonly at: number;
  readonly probe: string;
  readonly done: (result: AttemptResult) => void;
  end: 'open' | 'cancelled' | 'timedOut';
}

interface NodeOptions {
  readonly answers?: Record<string, AttemptResult>;
  readonly random?: number;
  readonly limits?: NonNullable<ProbeWorkersOptions['limits']>;
}

/** A probe names itself in its action's message; `answers` answers at once. */
function aNode({ answers = {}, random = 0.5, limits }: NodeOptions = {}) {
  const clock = new FakeClock();
  const startedMs = clock.monotonic();
  const started: Started[] = [];
  const notifications: ProbeNotification[] = [];
  const startAttempt: StartAttempt = ({ action }, done) => {
    const probe = action.type === 'invalid' ? action.message : '';
    const entry: Started = { at: (clock.monotonic() - startedMs) / 1000, probe, done, end: 'open' };
    started.push(entry);
    const answer = answers[probe];
    if (answer) setImmediate(() => done(answer));
    return {
      timeOut: () => ((entry.end = 'timedOut'), done({ outcome: 'failure', output: 'timeout', doubt: 'time' })),
      cancel: () => (entry.end = 'cancelled'),
    };
  };
  const { logger } = aLogger();
  const manager = new ProbeWorkers({
    clock,
    logger,
    startAttempt,
    post: (one) => notifications.push(one),
    random: () => random,
    ...(limits && { limits }),
  });
  const results = () => notifications.flatMap((one) => one.results.map(({ probe, result }) => `${probe} ${result}`));
  const events = () => notifications.flatMap((one) => one.events.map(({ reason, message }) => `${reason}: ${message}`));
  const times = (probe: string) => started.filter((one) => one.probe === probe).map(({ at }) => at);
  return { clock, manager, started, results, events, times, answers };
}

const spec = (probe: ProbeType, over: Partial<ProbeSpec> = {}): ProbeSpec => ({
  probe,
  action: { type: 'invalid', message: probe },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
  ...over,
});
const container = (clock: FakeClock, probes: readonly ProbeSpec[], over = {}) =>
  probedContainer('c', probes, { startedAtMs: clock.now(), ...over });

test('a probe runs at once and then each period', async () => {
  const { clock, manager, times, results } = aNode({ answers: { readiness: success } });
  manager.setPods([probedPod('p', [container(clock, [spec('readiness')])])]);
  await clock.advance(25_000);
  assert.deepEqual(times('readiness'), [0, 10, 20]);
  assert.deepEqual(results(), ['readiness success']);
});

test('a container from before the start is probed at a random time in its period, and at once where a result is missing', async () => {
  const { clock, manager, times } = aNode({ answers: { readiness: success, liveness: success } });
  const startedAtMs = clock.now() - 60_000;
  manager.setPods([probedPod('p', [container(clock, [spec('readiness', { lastResult: 'success' }), spec('liveness')], { startedAtMs })])]);
  await clock.advance(20_000);
  assert.deepEqual(
    [times('readiness'), times('liveness')],
    [
      [5, 15],
      [5, 15],
    ],
  );
  const other = aNode({ answers: { readiness: success } });
  other.manager.setPods([probedPod('p', [container(other.clock, [spec('readiness')], { startedAtMs: other.clock.now() - 60_000 })])]);
  await other.clock.advance(15_000);
  assert.deepEqual(other.times('readiness'), [0, 10]);
});

test('until the startup probe succeeds, no other probe runs; then readiness runs at once and liveness in its rhythm', async () => {
  const { clock, manager, times, results, answers } = aNode({ answers: { startup: failure, readiness: success, liveness: success } });
  const probes = [spec('startup', { periodSeconds: 3, failureThreshold: 9 }), spec('readiness'), spec('liveness')];
  manager.setPods([probedPod('p', [container(clock, probes, { started: false })])]);
  await clock.advance(5000);
  answers['startup'] = success;
  await clock.advance(20_000);
  assert.deepEqual(times('startup'), [0, 3, 6]);
  assert.deepEqual(times('readiness'), [6, 16]);
  assert.deepEqual(times('liveness'), [10, 20]);
  assert.deepEqual(results(), ['startup success', 'readiness success']);
});

test('the initial delay of readiness counts from the start of the container, also after a startup probe', async () => {
  const { clock, manager, times } = aNode({ answers: { startup: success, readiness: success } });
  const probes = [spec('startup'), spec('readiness', { initialDelaySeconds: 7 })];
  manager.setPods([probedPod('p', [container(clock, probes, { started: false })])]);
  await clock.advance(9000);
  assert.deepEqual(times('readiness'), [7]);
});

test('a failed liveness probe does not run again until the container is a new one', async () => {
  const { clock, manager, times, results, events } = aNode({ answers: { liveness: failure } });
  const probes = [spec('liveness', { periodSeconds: 1, failureThreshold: 2 })];
  manager.setPods([probedPod('p', [container(clock, probes)])]);
  await clock.advance(5000);
  assert.deepEqual(times('liveness'), [0, 1]);
  assert.deepEqual(results(), ['liveness failure']);
  assert.deepEqual(events(), ['Unhealthy: Liveness probe failed: no', 'Unhealthy: Liveness probe failed: no']);
  manager.setPods([probedPod('p', [container(clock, [{ ...probes[0]!, lastResult: 'failure' }])])]);
  await clock.advance(5000);
  assert.deepEqual(times('liveness'), [0, 1]);
  manager.setPods([probedPod('p', [container(clock, probes, { id: 'second' as ContainerID })])]);
  await clock.advance(500);
  assert.deepEqual(times('liveness'), [0, 1, 10]);
});

test('after a restart of the thread a former result lasts until a threshold is reached', async () => {
  const { clock, manager, results } = aNode({ answers: { readiness: failure }, random: 0 });
  const probes = [spec('readiness', { lastResult: 'success', failureThreshold: 3 })];
  manager.setPods([probedPod('p', [container(clock, probes, { startedAtMs: clock.now() - 60_000 })])]);
  await clock.advance(19_000);
  assert.deepEqual(results(), []);
  await clock.advance(1000);
  assert.deepEqual(results(), ['readiness failure']);
});

test('in a terminating pod readiness continues, liveness and startup end', async () => {
  const { clock, manager, times, started } = aNode({ answers: { readiness: success } });
  const pod = probedPod('p', [container(clock, [spec('readiness'), spec('liveness')])]);
  manager.setPods([pod]);
  await clock.advance(500);
  assert.equal(started.find(({ probe }) => probe === 'liveness')?.end, 'open');
  manager.setPods([{ ...pod, terminating: true }]);
  await clock.advance(20_000);
  assert.equal(started.find(({ probe }) => probe === 'liveness')?.end, 'cancelled');
  assert.deepEqual(times('readiness'), [0, 10, 20]);
  assert.deepEqual(times('liveness'), [0]);
});

test('a repeated list of the same container keeps the schedule, and uses the new action', async () => {
  const { clock, manager, times } = aNode({ answers: { readiness: success, other: success } });
  const pod = probedPod('p', [container(clock, [spec('readiness')])]);
  manager.setPods([pod]);
  await clock.advance(4000);
  manager.setPods([
    probedPod('p', [
      container(clock, [spec('readiness', { action: { type: 'invalid', message: 'other' } })], {
        startedAtMs: pod.containers[0]!.startedAtMs,
      }),
    ]),
  ]);
  await clock.advance(7000);
  assert.deepEqual(times('readiness'), [0]);
  assert.deepEqual(times('other'), [10]);
});

test('a result that main lacks is posted again', async () => {
  const { clock, manager, results } = aNode({ answers: { readiness: success } });
  const pod = probedPod('p', [container(clock, [spec('readiness')])]);
  manager.setPods([pod]);
  await clock.advance(1000);
  manager.setPods([pod]);
  manager.setPods([probedPod('p', [container(clock, [spec('readiness', { lastResult: 'success' })])])]);
  await clock.advance(1000);
  assert.deepEqual(results(), ['readiness success', 'readiness success']);
});

test('a probe that is not over when the next is due does not run twice', async () => {
  const { clock, manager, times, started } = aNode();
  manager.setPods([probedPod('p', [container(clock, [spec('readiness', { periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 9 })])])]);
  await clock.advance(2900);
  assert.deepEqual(times('readiness'), [0]);
  await clock.advance(1200);
  assert.deepEqual(
    started.map(({ end }) => end),
    ['timedOut', 'open'],
  );
  assert.deepEqual(times('readiness'), [0, 4]);
});

test('probes that wait for each other run at different times from then on', async () => {
  const limits = { active: 1, overdueAfterMs: Infinity, total: 1, perPod: 1, guaranteed: 0 };
  const { clock, manager, times, started } = aNode({ limits: { exec: limits, network: limits } });
  const named = (name: string) => probedPod(name, [container(clock, [spec('readiness', { action: { type: 'invalid', message: name } })])]);
  manager.setPods([named('a'), named('b')]);
  await clock.advance(300);
  started[0]!.done(success);
  await clock.advance(100);
  started[1]!.done(success);
  await clock.advance(9850);
  started[2]!.done(success);
  await clock.advance(200);
  assert.deepEqual(
    [times('a'), times('b')],
    [
      [0, 10],
      [0.3, 10.3],
    ],
  );
});

test('an error is tried three times, and its result is discarded', async () => {
  const { clock, manager, times, results, events } = aNode({ answers: { liveness: error } });
  manager.setPods([probedPod('p', [container(clock, [spec('liveness')])])]);
  await clock.advance(5000);
  assert.equal(times('liveness').length, 3);
  assert.deepEqual(results(), []);
  assert.deepEqual(events(), ['Unhealthy: Liveness probe errored and resulted in unknown state: broken']);
});

test('a warning is a success with an event', async () => {
  const { clock, manager, results, events } = aNode({ answers: { readiness: { outcome: 'warning', output: 'elsewhere' } } });
  manager.setPods([probedPod('p', [container(clock, [spec('readiness')])])]);
  await clock.advance(100);
  assert.deepEqual(results(), ['readiness success']);
  assert.deepEqual(events(), ['ProbeWarning: Readiness probe warning: elsewhere']);
});

test('a failure for lack of resources does not count', async () => {
  const { clock, manager, times, results, events } = aNode({ answers: { liveness: { ...failure, doubt: 'node' } } });
  manager.setPods([probedPod('p', [container(clock, [spec('liveness')])])]);
  await clock.advance(12_000);
  assert.deepEqual(times('liveness'), [0, 10]);
  assert.deepEqual([...results(), ...events()], []);
});

test('probes of a container that is listed no more, or of a removed pod, end', async () => {
  const { clock, manager, started } = aNode();
  const gone = probedPod('gone', [container(clock, [spec('readiness')])]);
  const other = probedPod('other', [container(clock, [spec('liveness')])]);
  manager.setPods([gone, other]);
  await clock.advance(10);
  manager.setPods([{ ...gone, containers: [] }]);
  manager.removePods([other.uid, other.uid]);
  await clock.advance(60_000);
  assert.deepEqual(
    started.map(({ end }) => end),
    ['cancelled', 'cancelled'],
  );
  assert.deepEqual(manager.series.counts(), []);
});
