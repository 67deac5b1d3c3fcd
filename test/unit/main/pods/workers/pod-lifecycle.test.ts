import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculateEffectiveGracePeriod } from '../../../../../src/main/pods/termination/effective-grace-period.ts';
import {
  advance,
  initialLifecycle,
  type LifecycleEvent,
  type PodFacts,
  type PodLifecycle,
} from '../../../../../src/main/pods/workers/pod-lifecycle.ts';
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
const cleanedUp: LifecycleEvent = { type: 'cleanedUp' };
const found: LifecycleEvent = { type: 'foundInRuntime' };

const cases: { name: string; events: LifecycleEvent[]; want: string }[] = [
  { name: 'a pod that its source has, and that has its turn, is synced', events: [created, start], want: 'syncing started' },
  { name: 'an update leaves a pod that is wanted as it is', events: [start, updated()], want: 'syncing started' },
  {
    name: 'a pod that its source removed terminates with its own grace period',
    events: [start, removed],
    want: 'terminating started 30s deleted',
  },
  {
    name: 'a deletion in the API terminates with the grace period that it names',
    events: [start, updated({ deletionRequested: true, deletionGracePeriodSeconds: 5 })],
    want: 'terminating started 5s deleted',
  },
  {
    name: 'a pod that the API calls failed terminates, and is not deleted',
    events: [start, updated({ phaseTerminal: true })],
    want: 'terminating started 30s',
  },
  {
    name: 'an eviction terminates with the grace period that it asks for',
    events: [start, kill({ evicted: true, override: 3 })],
    want: 'terminating started 3s evicted',
  },
  {
    name: 'its containers have ended before its sandboxes',
    events: [start, removed, ended],
    want: 'terminating started 30s ended deleted',
  },
  { name: 'that they have is not forgotten', events: [start, completed, ended, removed], want: 'terminating started 30s ended deleted' },
  { name: 'only a pod that ends has ended', events: [start, ended], want: 'syncing started' },
  { name: 'a second kill makes the grace period shorter', events: [start, kill(), kill({ override: 4 })], want: 'terminating started 4s' },
  {
    name: 'a second kill never makes the grace period longer',
    events: [start, kill({ override: 4 }), kill({ override: 40 })],
    want: 'terminating started 4s',
  },
  { name: 'a grace period of zero is one second', events: [start, kill({ override: 0 })], want: 'terminating started 1s' },
  {
    name: 'a deletion that comes while the pod terminates shrinks its grace period',
    events: [start, kill(), updated({ deletionRequested: true, deletionGracePeriodSeconds: 2 })],
    want: 'terminating started 2s deleted',
  },
  {
    name: 'an eviction of a pod that is ending already does not make it an evicted one',
    events: [start, removed, kill({ evicted: true })],
    want: 'terminating started 30s deleted',
  },
  { name: 'a pod that ran to its end terminates as it says itself', events: [start, completed], want: 'terminating started own grace' },
  {
    name: 'a pod that ended by itself and is removed is deleted',
    events: [start, completed, removed],
    want: 'terminating started 30s deleted',
  },
  { name: 'a pod whose containers have stopped is terminated', events: [start, removed, stopped], want: 'terminated deleted' },
  {
    name: 'a pod that is cleaned up is finished',
    events: [start, kill({ evicted: true }), stopped, cleanedUp],
    want: 'terminated finished evicted',
  },
  {
    name: 'a pod that never started is cleaned up too: an earlier kubelet may have begun with it',
    events: [removed, stopped],
    want: 'terminated deleted',
  },
  {
    name: 'a pod that only the runtime knows terminates as its annotations say',
    events: [found],
    want: 'terminating started own grace deleted',
  },
  { name: 'a pod that a source has is no orphan', events: [start, found, removed], want: 'terminating started 30s deleted' },
  {
    name: 'a UID that is created again while it terminates is to start anew later',
    events: [start, removed, created],
    want: 'terminating started 30s deleted restart',
  },
  {
    name: 'the wish to start anew outlives the termination',
    events: [start, removed, created, stopped, cleanedUp],
    want: 'terminated finished deleted restart',
  },
  {
    name: 'a finished UID that is created again is to start anew',
    events: [start, completed, stopped, cleanedUp, created],
    want: 'terminated finished restart',
  },
  {
    name: 'a terminated pod never runs again',
    events: [start, removed, stopped, updated(), start, completed, found],
    want: 'terminated deleted',
  },
  { name: 'a terminated pod that is removed is deleted', events: [start, completed, stopped, removed], want: 'terminated deleted' },
];
table('a pod’s life goes one way', (row) => {
  for (const { name, events, want } of cases) {
    row(name, () => assert.equal(summary(events.reduce(advance, syncing)), want));
  }
});

test('an event that changes nothing gives the same state back', () => {
  const terminating = [start, removed].reduce(advance, syncing);
  for (const event of [start, removed, completed, cleanedUp, found]) assert.equal(advance(terminating, event), terminating);
});

test('a pod that had ended before this kubelet started is only cleaned up', () => {
  assert.equal(summary(initialLifecycle(facts({ phaseTerminal: true }), false)), 'terminated');
  assert.equal(summary(initialLifecycle(facts({ phaseTerminal: true }), true)), 'syncing');
});

test("the pod's own grace period holds only where nobody else spoke", () => {
  const none = { current: null, deletion: null, override: null, spec: null };
  assert.equal(calculateEffectiveGracePeriod({ ...none, spec: 60 }), 60);
  assert.equal(calculateEffectiveGracePeriod({ ...none, spec: 5, override: 60 }), 60);
  assert.equal(calculateEffectiveGracePeriod({ ...none, spec: 60, deletion: 20, override: 10 }), 10);
  assert.equal(calculateEffectiveGracePeriod({ ...none, spec: 60, current: 7 }), 7);
  assert.equal(calculateEffectiveGracePeriod(none), 1);
});
