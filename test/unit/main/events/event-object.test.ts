import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventName, toCoreEvent } from '../../../../src/main/events/event-object.ts';
import { nodeReference } from '../../../../src/shared/kubernetes/node-reference.ts';
import { podReference } from '../../../../src/main/events/index.ts';
import { aPod } from '../../../support/pods/pods.ts';

const source = { component: 'kubelet', host: 'n1' };
const nowMs = Date.UTC(2026, 0, 1, 0, 0, 0, 789);

test('an event names its object, its container’s field path, its source and its timestamp', () => {
  const object = { ...podReference(aPod({ metadata: { resourceVersion: '7' } })), fieldPath: 'spec.containers{app}' };
  assert.deepEqual(toCoreEvent({ object, type: 'Normal', reason: 'Started', message: 'Container started' }, source, nowMs, 255n), {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web.ff', namespace: 'default' },
    involvedObject: {
      kind: 'Pod',
      apiVersion: 'v1',
      namespace: 'default',
      name: 'web',
      uid: 'uid-web',
      resourceVersion: '7',
      fieldPath: 'spec.containers{app}',
    },
    type: 'Normal',
    reason: 'Started',
    message: 'Container started',
    source,
    reportingComponent: 'kubelet',
    reportingInstance: 'n1',
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    count: 1,
    eventTime: null,
  });
});

test('an event about the node is created in the default namespace', () => {
  const event = toCoreEvent(
    { object: nodeReference('n1'), type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' },
    source,
    nowMs,
    1n,
  );
  assert.equal(event.metadata.namespace, 'default');
  assert.deepEqual(event.involvedObject, { kind: 'Node', apiVersion: 'v1', name: 'n1', uid: 'n1' });
});

test('an event has its annotations, if there are any', () => {
  const event = (annotations?: Record<string, string>) =>
    toCoreEvent(
      { object: nodeReference('n1'), type: 'Warning', reason: 'Evicted', message: '', ...(annotations && { annotations }) },
      source,
      nowMs,
      1n,
    );
  assert.deepEqual(event({ starved_resource: 'memory' }).metadata.annotations, { starved_resource: 'memory' });
  assert.deepEqual(
    [event({}), event()].map(({ metadata }) => 'annotations' in metadata),
    [false, false],
  );
});

test('an event of an object with an invalid name gets a random name', () => {
  assert.match(eventName('Web_1', 1n), /^[-0-9a-f]{36}$/);
  assert.match(eventName('a'.repeat(253), 1n), /^[-0-9a-f]{36}$/);
  assert.equal(eventName('web-1.example', 0x18a1n), 'web-1.example.18a1');
});
