import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodConfig, SourcesReady } from '../../../../src/main/sources/pod-config.ts';
import type { PodUpdate } from '../../../../src/main/sources/merge-pods.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/pod-sync.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

const aPod = (uid: string): Pod => ({ metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [] } });

function aPodConfig() {
  const [updates, events]: [PodUpdate[], RecordedEvent[]] = [[], []];
  const config = new PodConfig({
    sources: ['file', 'http'],
    onUpdate: (update) => updates.push(update),
    onEvent: (event) => events.push(event),
    clock: new FakeClock(),
    logger: aLogger().logger,
  });
  return { config, updates, events };
}

test('a source that has no pods is told as an empty ADD, once', () => {
  const { config, updates } = aPodConfig();
  config.set('file', []);
  config.set('file', []);
  assert.deepEqual(updates, [{ op: 'ADD', source: 'file', pods: [] }]);
});

test('all sources are seen when the last has reported', () => {
  const { config } = aPodConfig();
  config.set('file', []);
  assert.equal(config.seenAllSources(), false);
  config.set('http', []);
  assert.equal(config.seenAllSources(), true);
});

test("one source's report removes nothing of another's", () => {
  const { config, updates } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.set('http', []);
  assert.deepEqual(
    updates.map(({ op, source }) => [op, source]),
    [
      ['ADD', 'file'],
      ['ADD', 'http'],
    ],
  );
});

test('a duplicate name is an event on the pod that is ignored', () => {
  const { config, events } = aPodConfig();
  config.set('file', [aPod('one'), aPod('two')]);
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
