import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  coalesceDelayMs,
  isUrgent,
  maxCoalesceDelayMs,
  canBeDeleted,
  startupStepDelayMs,
} from '../../../../src/main/status/coalesce-delay.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../support/pods.ts';
import { table } from '../../../support/table.ts';

const startTime = '2026-01-01T00:00:00Z';
const waiting = (reason?: string): ContainerState => ({ waiting: reason === undefined ? {} : { reason } });
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const app = (state: ContainerState, fields: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'app',
  image: 'x',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...fields,
});
const pending = (state: ContainerState, fields: Partial<PodStatus> = {}): PodStatus => ({
  phase: 'Pending',
  startTime,
  containerStatuses: [app(state)],
  ...fields,
});
const aBase = (status: PodStatus, metadata: Partial<Pod['metadata']> = {}) => aPod({ metadata, status });
const deleted = { deletionTimestamp: startTime };
const created = pending(waiting('ContainerCreating'));
const isReady = { conditions: [{ type: 'Ready', status: 'True' }] };

const cases: { name: string; base: Pod; next: PodStatus; own?: PodStatus; firstStatusInMs?: number; want: number }[] = [
  { name: 'the first word on a pod does not wait', base: aBase({ phase: 'Pending' }), next: created, want: 0 },
  {
    name: 'the first status of a pod that may run in a moment waits so long',
    base: aBase({ phase: 'Pending' }),
    next: created,
    firstStatusInMs: 500,
    want: 500,
  },
  {
    name: 'a first status that tells of a failure does not wait',
    base: aBase({ phase: 'Pending' }),
    next: pending(waiting('ErrImagePull')),
    firstStatusInMs: 500,
    want: 0,
  },
  {
    name: 'the first status of a pod that initializes waits no longer than each other step of it',
    base: aBase({ phase: 'Pending' }),
    next: pending(waiting('PodInitializing'), { initContainerStatuses: [app(waiting('PodInitializing'), { name: 'first' })] }),
    firstStatusInMs: 5000,
    want: startupStepDelayMs,
  },
  {
    name: 'the conditions of every start wait with it',
    base: aBase(created),
    next: { ...created, podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'a condition with a reason of its own does not wait',
    base: aBase(created),
    next: { ...created, conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] },
    want: 0,
  },
  {
    name: 'a condition whose reason was published before delays nothing and hurries nothing',
    base: aBase({ ...created, conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] }),
    next: { ...created, podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'a sandbox that is ready waits for its containers',
    base: aBase(created),
    next: { ...created, podIP: '10.0.0.7' },
    want: maxCoalesceDelayMs,
  },
  { name: 'a container that was created waits until it runs', base: aBase(created), next: pending(waiting()), want: maxCoalesceDelayMs },
  {
    name: 'the first of two containers waits for the second',
    base: aBase(created),
    next: pending({ running: {} }),
    want: maxCoalesceDelayMs,
  },
  { name: 'a container that is done waits for what follows', base: aBase(created), next: pending(ended(0)), want: maxCoalesceDelayMs },
  {
    name: 'a pod that initializes has more to show, and waits less',
    base: aBase(created),
    next: pending(waiting('PodInitializing'), { initContainerStatuses: [app(ended(0), { name: 'first' })] }),
    want: startupStepDelayMs,
  },
  { name: 'a container that failed does not wait', base: aBase(created), next: pending(ended(1)), want: 0 },
  { name: 'an image that cannot be pulled does not wait', base: aBase(created), next: pending(waiting('ErrImagePull')), want: 0 },
  {
    name: 'an image that was pulled after all does not wait',
    base: aBase(pending(waiting('ErrImagePull'))),
    next: pending(waiting('ContainerCreating')),
    want: 0,
  },
  {
    name: 'a container that was restarted does not wait',
    base: aBase(created),
    next: pending({ running: {} }, { containerStatuses: [app({ running: {} }, { restartCount: 1 })] }),
    want: 0,
  },
  { name: 'a pod that runs does not wait', base: aBase(created), next: { ...created, phase: 'Running' }, want: 0 },
  { name: 'a pod that has something to say does not wait', base: aBase(created), next: { ...created, reason: 'Wedged' }, want: 0 },
  { name: 'a pod that is deleted does not wait', base: aBase(created, deleted), next: { ...created, podIP: '10.0.0.7' }, want: 0 },
  {
    name: 'a new generation that was seen, and nothing else, waits for what follows from it',
    base: aBase({ phase: 'Running', startTime, observedGeneration: 1, ...isReady }, deleted),
    next: { phase: 'Running', startTime, observedGeneration: 2, conditions: [{ ...isReady.conditions[0]!, observedGeneration: 2 }] },
    want: startupStepDelayMs,
  },
  {
    name: 'a new generation that was seen does not wait when there is more to say',
    base: aBase({ phase: 'Running', startTime, observedGeneration: 1 }, deleted),
    next: { phase: 'Running', startTime, observedGeneration: 2, podIP: '10.0.0.7' },
    want: 0,
  },
  {
    name: 'the end of the last container waits for the news that the pod has ended',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, containerStatuses: [app(ended(0))] },
    own: { phase: 'Succeeded' },
    want: startupStepDelayMs,
  },
  {
    name: 'that the runtime does not answer waits, for it mostly answers soon',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, reason: 'ContainerStatusUnknown', message: 'status of container app (c1): no answer for 2000 ms' },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'what else is said beside that does not wait',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, reason: 'ContainerStatusUnknown', message: 'no answer', containerStatuses: [app(ended(1))] },
    want: 0,
  },
];
table('a status may wait or goes first', (row) => {
  for (const { name, base, next, own = next, firstStatusInMs, want } of cases) {
    row(name, () => assert.equal(coalesceDelayMs(base, next, own, firstStatusInMs), want));
  }
});

test('deletions, ends and the first readiness go first', () => {
  const running = aBase({ phase: 'Running' });
  assert.equal(isUrgent(running, { phase: 'Running' }), false);
  assert.equal(isUrgent(running, { phase: 'Running', ...isReady }), true);
  assert.equal(isUrgent(aBase({ phase: 'Running', ...isReady }), { phase: 'Running', ...isReady }), false);
  assert.equal(isUrgent(running, { phase: 'Succeeded' }), true);
  assert.equal(isUrgent(aBase({ phase: 'Running' }, deleted), { phase: 'Running' }), true);
});

test('a pod’s object goes when it was deleted, has its final phase there, and nothing is left of it here', () => {
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }, deleted), true), true);
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }, deleted), false), false);
  assert.equal(canBeDeleted(aBase({ phase: 'Running' }, deleted), true), false);
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }), true), false);
});
