import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculateEffectiveGracePeriod } from '../../../../../src/main/pods/termination/effective-grace-period.ts';
import {
  advanceLifecycle,
  initialLifecycle,
  type LifecycleEvent,
  type PodFacts,
  type PodLifecycle,
} from '../../../../../src/main/pods/lifecycle/pod-lifecycle.ts';
import { table } from '../../../../support/table.ts';

const facts = (fields: Partial<PodFacts> = {}): PodFacts => ({
  deletionRequested: false,
  deletionGracePeriodSeconds: null,
  terminationGracePeriodSeconds: 30,
  phaseTerminal: false,
  ...fields,
});
const updated = (fields: Partial<PodFacts> = {}): LifecycleEvent => ({ type: 'updated', update: 'update', pod: facts(fields) });
const created: LifecycleEvent = { type: 'updated', update: 'create', pod: facts() };
const removed: LifecycleEvent = { type: 'removed', pod: facts() };
const kill = (fields: { evicted?: boolean; override?: number } = {}): LifecycleEvent => ({
  type: 'killRequested',
  pod: facts(),
  evicted: fields.evicted ?? false,
  gracePeriodOverrideSeconds: fields.override ?? null,
});
const syncing: PodLifecycle = { state: 'syncing', started: false };

/** `terminating 30s deleted`, `terminated finished restart`, … */
function summary(pod: PodLifecycle): string {
  const words: string[] = [pod.state];
  if (pod.state !== 'terminated' && pod.started) words.push('started');
  if (pod.state === 'terminating') words.push(pod.gracePeriodSeconds === null ? 'own grace' : `${pod.gracePeriodSeconds}s`);
  if (pod.state === 'terminating' && pod.containersEnded) words.push('ended');
  if (pod.state === 'terminated' && pod.finished) words.push('finished');
  if (pod.state !== 'syncing') {
    if (pod.deleted) words.push('deleted');
    if (pod.evicted) words.push('evicted');
    if (pod.restartRequested) words.push('restart');
  }
  return words.join(' ');
}

const start: LifecycleEvent = { type: 'started' };
const completed: LifecycleEvent = { type: 'completed' };
const ended: LifecycleEvent = { type: 'containersEnded' };
const stopped: LifecycleEvent = { type: 'containersStopped' };
const finished: LifecycleEvent = { type: 'finished' };
const found: LifecycleEvent = { type: 'foundInRuntime' };

const cases: { name: string; events: LifecycleEvent[]; want: string }[] = [
  { name: 'a created pod is synced', events: [created, start], want: 'syncing started' },
  { name: 'an update does not change the state of a wanted pod', events: [start, updated()], want: 'syncing started' },
  {
    name: 'a pod that its source removed terminates with its own grace period',
    events: [start, removed],
    want: 'terminating started 30s deleted',
  },
  {
    name: 'a deletion in the API terminates with the grace period of the deletion',
    events: [start, updated({ deletionRequested: true, deletionGracePeriodSeconds: 5 })],
    want: 'terminating started 5s deleted',
  },
  {
    name: 'a pod with a terminal phase in the API terminates, and is not deleted',
    events: [start, updated({ phaseTerminal: true })],
    want: 'terminating started 30s',
  },
  {
    name: 'an eviction terminates with its override of the grace period',
    events: [start, kill({ evicted: true, override: 3 })],
    want: 'terminating started 3s evicted',
  },
  {
    name: 'containers may end before their sandboxes',
    events: [start, removed, ended],
    want: 'terminating started 30s ended deleted',
  },
  {
    name: 'a later removal keeps the end of the containers',
    events: [start, completed, ended, removed],
    want: 'terminating started 30s ended deleted',
  },
  { name: 'the end of the containers has no effect on a pod that is synced', events: [start, ended], want: 'syncing started' },
  { name: 'a second kill shortens the grace period', events: [start, kill(), kill({ override: 4 })], want: 'terminating started 4s' },
  {
    name: 'a second kill never extends the grace period',
    events: [start, kill({ override: 4 }), kill({ override: 40 })],
    want: 'terminating started 4s',
  },
  { name: 'a grace period of zero becomes one second', events: [start, kill({ override: 0 })], want: 'terminating started 1s' },
  {
    name: 'a deletion shortens the grace period of a terminating pod',
    events: [start, kill(), updated({ deletionRequested: true, deletionGracePeriodSeconds: 2 })],
    want: 'terminating started 2s deleted',
  },
  {
    name: 'a terminating pod does not become evicted',
    events: [start, removed, kill({ evicted: true })],
    want: 'terminating started 30s deleted',
  },
  { name: 'a completed pod terminates with its own grace period', events: [start, completed], want: 'terminating started own grace' },
  {
    name: 'a completed pod that is removed is deleted',
    events: [start, completed, removed],
    want: 'terminating started 30s deleted',
  },
  { name: 'a pod whose containers have stopped is terminated', events: [start, removed, stopped], want: 'terminated deleted' },
  {
    name: 'a pod that is cleaned up is finished',
    events: [start, kill({ evicted: true }), stopped, finished],
    want: 'terminated finished evicted',
  },
  {
    name: 'a pod that never started is terminated too: an earlier kubelet may have started it',
    events: [removed, stopped],
    want: 'terminated deleted',
  },
  {
    name: 'a pod that only the runtime knows terminates with the grace period of its annotations',
    events: [found],
    want: 'terminating started own grace deleted',
  },
  {
    name: 'a removal sets the grace period of a pod found in the runtime',
    events: [start, found, removed],
    want: 'terminating started 30s deleted',
  },
  {
    name: 'a UID that is recreated while it terminates restarts later',
    events: [start, removed, created],
    want: 'terminating started 30s deleted restart',
  },
  {
    name: 'a requested restart survives the termination',
    events: [start, removed, created, stopped, finished],
    want: 'terminated finished deleted restart',
  },
  {
    name: 'a finished UID that is recreated restarts',
    events: [start, completed, stopped, finished, created],
    want: 'terminated finished restart',
  },
  {
    name: 'a terminated pod never runs again',
    events: [start, removed, stopped, updated(), start, completed, found],
    want: 'terminated deleted',
  },
  { name: 'a terminated pod that is removed is deleted', events: [start, completed, stopped, removed], want: 'terminated deleted' },
];
table('the lifecycle of a pod', (row) => {
  for (const { name, events, want } of cases) {
    row(name, () => assert.equal(summary(events.reduce(advanceLifecycle, syncing)), want));
  }
});

test('an event without effect returns the same state', () => {
  const terminating = [start, removed].reduce(advanceLifecycle, syncing);
  for (const event of [start, removed, completed, finished, found]) assert.equal(advanceLifecycle(terminating, event), terminating);
});

test('a pod that ended before this kubelet started is only cleaned up', () => {
  assert.equal(summary(initialLifecycle(facts({ phaseTerminal: true }), false)), 'terminated');
  assert.equal(summary(initialLifecycle(facts({ phaseTerminal: true }), true)), 'syncing');
});

test('the grace period of the spec applies only without another grace period', () => {
  const none = { currentSeconds: null, deletionSeconds: null, overrideSeconds: null, specSeconds: null };
  assert.equal(calculateEffectiveGracePeriod({ ...none, specSeconds: 60 }), 60);
  assert.equal(calculateEffectiveGracePeriod({ ...none, specSeconds: 5, overrideSeconds: 60 }), 60);
  assert.equal(calculateEffectiveGracePeriod({ ...none, specSeconds: 60, deletionSeconds: 20, overrideSeconds: 10 }), 10);
  assert.equal(calculateEffectiveGracePeriod({ ...none, specSeconds: 60, currentSeconds: 7 }), 7);
  assert.equal(calculateEffectiveGracePeriod(none), 1);
});
