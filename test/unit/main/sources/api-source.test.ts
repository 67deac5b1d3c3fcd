import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectStore } from '../../../../src/main/api/index.ts';
import { ApiSource } from '../../../../src/main/sources/api-source.ts';
import { PodConfig } from '../../../../src/main/sources/pod-config.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { apiError, FakeApi, type FakeWatch } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const path = '/api/v1/pods';
const podOf = (name: string, resourceVersion: string, metadata: Partial<Pod['metadata']> = {}) =>
  aPod({ metadata: { name, uid: `uid-${name}`, resourceVersion, annotations: {}, ...metadata } });
const synced = (resourceVersion: string) => ({ metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } } });

function anApiSource(nodeSynced: Promise<unknown> = Promise.resolve()) {
  const api = new FakeApi();
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const config = new PodConfig({ sources: ['api'], onReport: () => {}, onEvent: () => {}, clock, logger });
  const source = ApiSource.start({
    client: api,
    store: new ObjectStore(),
    nodeName: 'n1',
    nodeSynced,
    onPods: (pods) => config.set('api', pods),
    onChanges: (changes) => config.change('api', changes),
    onEvent: () => {},
    clock,
    logger,
  });
  const taken = () => config.take().map(({ op, pods }) => `${op} ${pods.map(({ metadata }) => metadata.uid).join(' ')}`);
  return { api, clock, lines, config, source, taken };
}

async function aSyncedSource(...pods: Pod[]) {
  const parts = anApiSource();
  const watch: FakeWatch = await parts.api.nextWatch(path);
  for (const pod of pods) watch.push('ADDED', pod);
  watch.push('BOOKMARK', synced('10'));
  await settle();
  return { ...parts, watch };
}

test('a force-deleted pod is removed with the grace period of its last version, also when both changes arrive together', async () => {
  const { config, watch } = await aSyncedSource(podOf('a', '1'));
  config.take();
  const forced = { deletionTimestamp: '2026-11-23T00:00:00Z', deletionGracePeriodSeconds: 0 };
  watch.push('MODIFIED', podOf('a', '11', forced));
  watch.push('DELETED', podOf('a', '12', forced));
  await settle();
  const updates = config.take();
  assert.deepEqual(
    updates.map(({ op, pods }) => [op, pods.map(({ metadata }) => [metadata.uid, metadata.deletionGracePeriodSeconds])]),
    [['REMOVE', [['uid-a', 0]]]],
  );
});

test('pods are watched once the node is known, and reported once all of them are listed', async () => {
  const node = Promise.withResolvers<void>();
  const { api, source, taken } = anApiSource(node.promise);
  await settle();
  assert.deepEqual(api.watches, []);
  node.resolve();
  const watch = await api.nextWatch(path);
  assert.equal(watch.call.query?.['fieldSelector'], 'spec.nodeName=n1');
  watch.push('ADDED', podOf('a', '1'));
  await settle();
  assert.deepEqual(taken(), []);
  watch.push('BOOKMARK', synced('2'));
  await settle();
  assert.deepEqual(taken(), ['ADD uid-a']);
  await source.close();
});

test('a node without pods is reported as an empty ADD', async () => {
  const { source, taken } = await aSyncedSource();
  assert.deepEqual(taken(), ['ADD ']);
  await source.close();
});

test('a pod is added, updated, deleted and removed, and its unknown fields stay', async () => {
  const { watch, source, config, taken } = await aSyncedSource();
  taken();
  const pod = { ...podOf('a', '11'), spec: { ...podOf('a', '11').spec, fromTheFuture: 1 } };
  watch.push('ADDED', pod);
  await settle();
  const added = config.take()[0]!.pods[0]!;
  assert.deepEqual(added.spec, pod.spec);
  assert.equal(added.metadata.annotations?.['kubernetes.io/config.source'], 'api');
  watch.push('MODIFIED', { ...pod, metadata: { ...pod.metadata, resourceVersion: '12', labels: { a: 'b' } } });
  await settle();
  assert.deepEqual(taken(), ['UPDATE uid-a']);
  const deletion = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 };
  watch.push('MODIFIED', { ...pod, metadata: { ...pod.metadata, resourceVersion: '13', ...deletion } });
  await settle();
  assert.deepEqual(taken(), ['DELETE uid-a']);
  watch.push('DELETED', { ...pod, metadata: { ...pod.metadata, resourceVersion: '14', ...deletion } });
  await settle();
  assert.deepEqual(taken(), ['REMOVE uid-a']);
  await source.close();
});

test('a mirror pod keeps its annotation', async () => {
  const annotations = { 'kubernetes.io/config.mirror': 'abc', 'kubernetes.io/config.hash': 'abc', 'kubernetes.io/config.source': 'file' };
  const { source, config } = await aSyncedSource(podOf('static-n1', '5', { annotations }));
  assert.equal(config.take()[0]!.pods[0]!.metadata.annotations?.['kubernetes.io/config.mirror'], 'abc');
  await source.close();
});

test('a recreated cluster removes the known pods and adds pods with the same names', async () => {
  const { api, watch, source, taken } = await aSyncedSource(podOf('a', '5'), podOf('b', '6'));
  taken();
  watch.fail(apiError(410, 'Expired'));
  const next = await api.nextWatch(path);
  next.push('ADDED', podOf('a', '2', { uid: 'uid-new' }));
  next.push('BOOKMARK', synced('3'));
  await settle();
  assert.deepEqual(taken(), ['REMOVE uid-a uid-b', 'ADD uid-new']);
  await source.close();
});

test('a pod that is created and deleted between two takes causes no update', async () => {
  const { watch, source, taken } = await aSyncedSource();
  taken();
  watch.push('ADDED', podOf('a', '11'));
  watch.push('DELETED', podOf('a', '12'));
  await settle();
  assert.deepEqual(taken(), []);
  await source.close();
});

const hostilePods: readonly [string, Pod][] = [
  ['a name that leads out of its folder', podOf('../../etc', '11', { uid: 'uid-x' })],
  ['a UID that leads out of its folder', podOf('x', '11', { uid: '../..' })],
  ['no namespace', podOf('x', '11', { namespace: undefined as unknown as string })],
  ['no spec', { ...podOf('x', '11'), spec: null as unknown as Pod['spec'] }],
];
table('a hostile pod is ignored, and other pods are added', (row) => {
  for (const [what, pod] of hostilePods) {
    row(`a pod with ${what} is ignored, and other pods are added`, async () => {
      const { watch, source, taken, lines } = await aSyncedSource();
      taken();
      watch.push('ADDED', pod);
      watch.push('ADDED', podOf('b', '12'));
      await settle();
      assert.deepEqual(taken(), ['ADD uid-b']);
      assert.ok(lines.some(({ msg }) => msg === 'Pod of the API server ignored'));
      await source.close();
    });
  }
});

test('a source that is closed before the node is known ends', async () => {
  const { source, api } = anApiSource(new Promise(() => {}));
  await source.close();
  assert.deepEqual(api.watches, []);
});
