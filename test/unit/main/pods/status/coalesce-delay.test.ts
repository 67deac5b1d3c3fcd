import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coalesceDelayMs, isUrgent, maxCoalesceDelayMs, startupStepDelayMs } from '../../../../../src/main/pods/status/coalesce-delay.ts';
import { canBeDeleted } from '../../../../../src/main/pods/status/status-writer.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

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
  { name: 'a pod’s first status is not delayed by default', base: aBase({ phase: 'Pending' }), next: created, want: 0 },
  {
    name: 'a pod’s first status waits for the remaining first-status delay',
    base: aBase({ phase: 'Pending' }),
    next: created,
    firstStatusInMs: 500,
    want: 500,
  },
  {
    name: 'a first status with a failure is not delayed',
    base: aBase({ phase: 'Pending' }),
    next: pending(waiting('ErrImagePull')),
    firstStatusInMs: 500,
    want: 0,
  },
  {
    name: 'the first status of a pod with init containers waits no longer than any other step',
    base: aBase({ phase: 'Pending' }),
    next: pending(waiting('PodInitializing'), { initContainerStatuses: [app(waiting('PodInitializing'), { name: 'first' })] }),
    firstStatusInMs: 5000,
    want: startupStepDelayMs,
  },
  {
    name: 'the conditions of every start are delayed with it',
    base: aBase(created),
    next: { ...created, podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'a condition with an unusual reason is not delayed',
    base: aBase(created),
    next: { ...created, conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] },
    want: 0,
  },
  {
    name: 'a condition reason that was published before does not end the delay',
    base: aBase({ ...created, conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] }),
    next: { ...created, podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }] },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'a ready sandbox is delayed until its containers start',
    base: aBase(created),
    next: { ...created, podIP: '10.0.0.7' },
    want: maxCoalesceDelayMs,
  },
  { name: 'a created container is delayed until it runs', base: aBase(created), next: pending(waiting()), want: maxCoalesceDelayMs },
  {
    name: 'the first of two containers is delayed until the second runs',
    base: aBase(created),
    next: pending({ running: {} }),
    want: maxCoalesceDelayMs,
  },
  { name: 'a completed container is delayed', base: aBase(created), next: pending(ended(0)), want: maxCoalesceDelayMs },
  {
    name: 'a pod with init containers is delayed for a shorter time',
    base: aBase(created),
    next: pending(waiting('PodInitializing'), { initContainerStatuses: [app(ended(0), { name: 'first' })] }),
    want: startupStepDelayMs,
  },
  { name: 'a failed container is not delayed', base: aBase(created), next: pending(ended(1)), want: 0 },
  { name: 'a failed image pull is not delayed', base: aBase(created), next: pending(waiting('ErrImagePull')), want: 0 },
  {
    name: 'a recovered image pull is not delayed',
    base: aBase(pending(waiting('ErrImagePull'))),
    next: pending(waiting('ContainerCreating')),
    want: 0,
  },
  {
    name: 'a restarted container is not delayed',
    base: aBase(created),
    next: pending({ running: {} }, { containerStatuses: [app({ running: {} }, { restartCount: 1 })] }),
    want: 0,
  },
  { name: 'a running pod is not delayed', base: aBase(created), next: { ...created, phase: 'Running' }, want: 0 },
  { name: 'a pod with a reason is not delayed', base: aBase(created), next: { ...created, reason: 'Wedged' }, want: 0 },
  { name: 'a deleted pod is not delayed', base: aBase(created, deleted), next: { ...created, podIP: '10.0.0.7' }, want: 0 },
  {
    name: 'a change of only the observed generation is delayed',
    base: aBase({ phase: 'Running', startTime, observedGeneration: 1, ...isReady }, deleted),
    next: { phase: 'Running', startTime, observedGeneration: 2, conditions: [{ ...isReady.conditions[0]!, observedGeneration: 2 }] },
    want: startupStepDelayMs,
  },
  {
    name: 'a new observed generation with another change is not delayed',
    base: aBase({ phase: 'Running', startTime, observedGeneration: 1 }, deleted),
    next: { phase: 'Running', startTime, observedGeneration: 2, podIP: '10.0.0.7' },
    want: 0,
  },
  {
    name: 'the termination of the last container is delayed until the pod has ended',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, containerStatuses: [app(ended(0))] },
    own: { phase: 'Succeeded' },
    want: startupStepDelayMs,
  },
  {
    name: 'a runtime that does not respond is delayed',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, reason: 'ContainerStatusUnknown', message: 'status of container app (c1): no answer for 2000 ms' },
    want: maxCoalesceDelayMs,
  },
  {
    name: 'another change with a runtime that does not respond is not delayed',
    base: aBase({ phase: 'Running', startTime }),
    next: { phase: 'Running', startTime, reason: 'ContainerStatusUnknown', message: 'no answer', containerStatuses: [app(ended(1))] },
    want: 0,
  },
];
table('the coalesce delay of a status change', (row) => {
  for (const { name, base, next, own = next, firstStatusInMs, want } of cases) {
    row(name, () => assert.equal(coalesceDelayMs(base, next, own, firstStatusInMs), want));
  }
});

test('deletions, terminal phases and the first readiness are urgent', () => {
  const running = aBase({ phase: 'Running' });
  assert.equal(isUrgent(running, { phase: 'Running' }), false);
  assert.equal(isUrgent(running, { phase: 'Running', ...isReady }), true);
  assert.equal(isUrgent(aBase({ phase: 'Running', ...isReady }), { phase: 'Running', ...isReady }), false);
  assert.equal(isUrgent(aBase({ phase: 'Running', ...isReady }), { phase: 'Running' }), true);
  assert.equal(isUrgent(running, { phase: 'Succeeded' }), true);
  assert.equal(isUrgent(aBase({ phase: 'Running' }, deleted), { phase: 'Running' }), true);
});

test('the object of a deleted pod can be deleted when the server has its final phase and the node has nothing left of it', () => {
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }, deleted), true), true);
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }, deleted), false), false);
  assert.equal(canBeDeleted(aBase({ phase: 'Running' }, deleted), true), false);
  assert.equal(canBeDeleted(aBase({ phase: 'Failed' }), true), false);
});
