import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectStore } from '../../../src/main/api/index.ts';
import { PodSources, SourcesReady } from '../../../src/main/sources/index.ts';
import { FakeApi } from '../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { silentLogger } from '../../support/logger.ts';
import { aPod } from '../../support/pods/pods.ts';

test('the API server is one of the sources and closes with them', async () => {
  const client = new FakeApi();
  let [reports, lists] = [0, 0];
  const ready = new SourcesReady(['api']);
  const sources = PodSources.start({
    ready,
    nodeName: 'n1',
    staticPodPath: '',
    fileCheckFrequencyMs: 20_000,
    staticPodURL: '',
    staticPodURLHeader: {},
    httpCheckFrequencyMs: 20_000,
    api: { client, store: new ObjectStore(), nodeSynced: Promise.resolve(), onListed: () => (lists += 1) },
    decode: () => Promise.reject(new Error('nothing is decoded here')),
    onReport: () => (reports += 1),
    onEvent: () => {},
    clock: new FakeClock(),
    logger: silentLogger,
  });
  const watch = await client.nextWatch('/api/v1/pods');
  assert.equal(ready.allReady(), false);
  watch.push('BOOKMARK', { metadata: { resourceVersion: '5', annotations: { 'k8s.io/initial-events-end': 'true' } } });
  await settle();
  watch.push('ADDED', aPod({ metadata: { resourceVersion: '6' } }));
  await settle();
  assert.deepEqual([reports, lists], [2, 1]);
  const updates = sources.take();
  assert.deepEqual(
    updates.map(({ op, source, pods }) => [op, source, pods.length]),
    [['ADD', 'api', 1]],
  );
  assert.equal(ready.allReady(), false);
  for (const update of updates) sources.markHandled(update);
  assert.equal(ready.allReady(), true);
  await sources.close();
  assert.equal(watch.isOpen, false);
});
