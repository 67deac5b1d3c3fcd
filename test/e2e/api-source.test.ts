/** The API source and the event recorder against a real API server. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EventRecorder, podReference } from '../../src/main/events/index.ts';
import { nodeReference } from '../../src/shared/kubernetes/node-reference.ts';
import { ObjectStore } from '../../src/main/api/index.ts';
import { ApiSource } from '../../src/main/sources/api-source.ts';
import { PodConfig } from '../../src/main/sources/pod-config.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { systemClock } from '../../src/shared/time/clock.ts';
import { BareCluster, populate } from '../support/cluster/bare-cluster.ts';
import { aLogger } from '../support/logger.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const nodeName = 'n1';
/** Covers the reflector's back-off on a busy host. */
const recoveryMs = 60_000;
const podsPath = '/api/v1/namespaces/default/pods';

interface EventList {
  readonly items: readonly { readonly reason: string; readonly count: number; readonly message: string }[];
}

describe('API source', () => {
  let bareCluster: BareCluster;
  let cluster: BareCluster['cluster'];
  let connection: BareCluster['connection'];
  let config: PodConfig;
  let source: ApiSource;
  const { logger, lines } = aLogger();
  /** The updates taken from the source, oldest first: `ADD web`. */
  const taken: string[] = [];

  const createPod = (name: string) =>
    cluster.api.create<Pod>(podsPath, {
      metadata: { name },
      spec: { nodeName, containers: [{ name: 'app', image: 'local.example/app:1' }] },
    });
  const take = () => taken.push(...config.take().flatMap(({ op, pods }) => pods.map(({ metadata }) => `${op} ${metadata.name}`)));
  const untilUpdate = (update: string) =>
    waitUntil(
      `the source has the update ${update}`,
      () => {
        take();
        return taken.includes(update);
      },
      recoveryMs,
    );

  before(async () => {
    bareCluster = await BareCluster.start(nodeName, logger);
    ({ cluster, connection } = bareCluster);
    await createPod('early');
    config = new PodConfig({ sources: ['api'], onReport: () => {}, onEvent: () => {}, clock: systemClock, logger });
    source = ApiSource.start({
      client: connection.client,
      store: new ObjectStore(),
      nodeName,
      nodeSynced: Promise.resolve(),
      onPods: (pods) => config.set('api', pods),
      onChanges: (changes) => config.change('api', changes),
      onEvent: () => {},
      clock: systemClock,
      logger,
    });
  });
  after(async () => {
    await source?.close();
    await bareCluster?.close();
  });

  test('streams the node’s pods with the node’s own credentials', async () => {
    await untilUpdate('ADD early');
    assert.equal(
      lines.some(({ msg }) => msg === 'Watch failed'),
      false,
    );
    await createPod('web');
    await untilUpdate('ADD web');
    await cluster.api.patch(`${podsPath}/web`, { metadata: { labels: { a: 'b' } } });
    await untilUpdate('UPDATE web');
    await cluster.api.patch(`${podsPath}/web/status`, { status: { phase: 'Running' } });
    await untilUpdate('RECONCILE web');
    await cluster.api.delete(`${podsPath}/web`);
    await untilUpdate('DELETE web');
    await cluster.api.delete(`${podsPath}/web`, { gracePeriodSeconds: 0 });
    await untilUpdate('REMOVE web');
  });

  test('resumes after an outage of the API server without repeating updates', async () => {
    taken.length = 0;
    await cluster.controlPlane.stopApiServer(0);
    await cluster.controlPlane.startApiServer();
    await createPod('late');
    await untilUpdate('ADD late');
    assert.deepEqual(taken, ['ADD late']);
  });

  test('treats pods of the same names in a new cluster as other pods', async () => {
    taken.length = 0;
    await cluster.controlPlane.restartEtcdEmpty();
    await populate(cluster, nodeName);
    const { metadata } = await createPod('early');
    await waitUntil(
      'the update of the new pod arrives',
      () => {
        const updates = config.take();
        taken.push(...updates.flatMap(({ op, pods }) => pods.map((pod) => `${op} ${pod.metadata.name}`)));
        return updates.some(({ op, pods }) => op === 'ADD' && pods.some((pod) => pod.metadata.uid === metadata.uid));
      },
      recoveryMs,
    );
    assert.deepEqual(taken.toSorted(), ['ADD early', 'REMOVE early', 'REMOVE late']);
  });

  test('counts repeated events of pods and of the node', async () => {
    const recorder = new EventRecorder({ client: connection.client, nodeName, log: { record: () => {} }, clock: systemClock, logger });
    const pod = await cluster.api.get<Pod>(`${podsPath}/early`);
    const object = { ...podReference(pod), fieldPath: 'spec.containers{app}' };
    for (let i = 0; i < 3; i += 1) recorder.record({ object, type: 'Warning', reason: 'BackOff', message: 'Back-off restarting' });
    recorder.record({ object: nodeReference(nodeName), type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    const events = () => cluster.api.get<EventList>('/api/v1/namespaces/default/events');
    await waitUntil('the last event is recorded', async () => (await events()).items.some(({ reason }) => reason === 'Starting'));
    assert.equal((await events()).items.find(({ reason }) => reason === 'BackOff')?.count, 3);
    assert.match(await cluster.kubectl('describe', 'node', nodeName), /Starting kubelet\./);
    assert.match(
      await cluster.kubectl('describe', 'pod', 'early'),
      /BackOff .*\(x3 over .*spec.containers\{app\}|BackOff.*x3 over.*Back-off restarting/,
    );
    await recorder.close();
  });
});
