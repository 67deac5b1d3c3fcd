import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodConfig, SourcesReady } from '../../../../src/main/sources/pod-config.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/pod-sync.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

const aPod = (uid: string): Pod => ({ metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [] } });

function aPodConfig() {
  const events: RecordedEvent[] = [];
  const reports = { count: 0 };
  const config = new PodConfig({
    sources: ['file', 'http'],
    onReport: () => (reports.count += 1),
    onEvent: (event) => events.push(event),
    clock: new FakeClock(),
    logger: aLogger().logger,
  });
  return { config, events, reports };
}

test('a source that has no pods is told as an empty ADD, once', () => {
  const { config, reports } = aPodConfig();
  config.set('file', []);
  assert.equal(reports.count, 1);
  assert.deepEqual(config.take(), [{ op: 'ADD', source: 'file', pods: [] }]);
  config.set('file', []);
  assert.deepEqual(config.take(), []);
});

test('all sources are seen when the first report of the last was taken', () => {
  const { config } = aPodConfig();
  config.set('file', []);
  config.take();
  assert.equal(config.seenAllSources(), false);
  config.set('http', []);
  assert.equal(config.seenAllSources(), false);
  config.take();
  assert.equal(config.seenAllSources(), true);
});

test("one source's report removes nothing of another's", () => {
  const { config } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.set('http', []);
  assert.deepEqual(
    config.take().map(({ op, source }) => [op, source]),
    [
      ['ADD', 'file'],
      ['ADD', 'http'],
    ],
  );
});

test('of what a source says while nobody takes it, the last word counts', () => {
  const { config } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.take();
  for (let change = 0; change < 100; change += 1) config.set('file', change % 2 === 0 ? [] : [aPod(`other-${change}`)]);
  config.set('file', [aPod('two')]);
  assert.deepEqual(
    config.take().map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.uid)]),
    [
      ['REMOVE', ['one']],
      ['ADD', ['two']],
    ],
  );
  assert.deepEqual(config.take(), []);
});

test('a duplicate name is an event on the pod that is ignored', () => {
  const { config, events } = aPodConfig();
  config.set('file', [aPod('one'), aPod('two')]);
  config.take();
  assert.deepEqual(events, [
    {
      object: { kind: 'Pod', name: 'web', namespace: 'default', uid: 'two' },
      type: 'Warning',
      reason: 'FailedValidation',
      message: 'Error validating pod web_default(two) from file due to duplicate pod name "web", ignoring',
    },
  ]);
});

test('sources are ready when the loop has handled each', () => {
  const ready = new SourcesReady(['file', 'http']);
  ready.addSource('http');
  assert.equal(ready.allReady(), false);
  ready.addSource('file');
  assert.equal(ready.allReady(), true);
  assert.equal(new SourcesReady([]).allReady(), true);
});
