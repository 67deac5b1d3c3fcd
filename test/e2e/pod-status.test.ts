/** Status writes, final deletions and mirror pods against a real API server, with a node's credentials. The runtime is in memory. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ObjectStore, type ApiCall, type ApiClient } from '../../src/main/api/index.ts';
import { MirrorPods } from '../../src/main/pods/static/mirror-pods.ts';
import { ApiSource } from '../../src/main/sources/api-source.ts';
import { PodConfig } from '../../src/main/sources/pod-config.ts';
import { StatusManager } from '../../src/main/pods/status/index.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../src/shared/kubernetes/ids.ts';
import { systemClock as clock } from '../../src/shared/time/clock.ts';
import { FakeNode } from '../support/pods/fake-node.ts';
import { BareCluster } from '../support/cluster/bare-cluster.ts';
import { aLogger } from '../support/logger.ts';
import { aPod, aRuntimeContainer, aRuntimePodStatus } from '../support/pods/pods.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const nodeName = 'n1';
const podsPath = '/api/v1/namespaces/default/pods';

describe('pods from the API server', () => {
  let bareCluster: BareCluster;
  let cluster: BareCluster['cluster'];
  let connection: BareCluster['connection'];
  let kubelet: Awaited<ReturnType<typeof aKubelet>>;
  const calls: string[] = [];
  const { logger, lines } = aLogger();

  /** The parts of the main thread that handle pods, without threads. */
  async function aKubelet() {
    const node = await FakeNode.start();
    const client: ApiClient = {
      call: <T>(call: ApiCall) => {
        calls.push(`${call.method} ${call.path.replace(`${podsPath}/`, '')}`);
        return connection.client.call<T>(call);
      },
      watch: (call) => connection.client.watch(call),
      onRecovery: (listener) => connection.client.onRecovery(listener),
    };
    const { podManager, podStates, timelines, statuses, handlers, workers: podWorkers } = node;
    const config = new PodConfig({ sources: ['api'], onReport: () => setImmediate(take), onEvent: () => {}, clock, logger });
    const store = new ObjectStore<Pod>();
    const source = ApiSource.start({
      client: connection.client,
      store,
      nodeName,
      nodeSynced: Promise.resolve(),
      onPods: (pods) => config.set('api', pods),
      onChanges: (changes) => config.change('api', changes),
      onEvent: () => {},
      clock,
      logger,
    });
    const manager = new StatusManager({
      client,
      apiPod: (uid) => store.get(uid),
      podManager,
      firstStatusDelayMs: 0,
      timelines,
      clock,
      logger,
      random: Math.random,
    });
    node.sink = manager;
    const mirrors = new MirrorPods({
      client,
      podManager,
      nodeName,
      nodeUID: () => bareCluster.nodeUID,
      isSynced: () => source.hasSynced(),
      sourcesReady: () => source.hasSynced(),
      isStaticPodEnding: (fullName, wanted) => podStates.isStaticPodEnding(fullName, wanted),
      onMirrorPod: (pod, mirror) => statuses.adoptMirrorStatus(podUID(pod), mirror.status) && podWorkers.refreshStatuses([podUID(pod)]),
      clock,
      logger,
      random: Math.random,
    });
    const take = () => config.take().forEach((update) => void handlers.handle(update));
    return {
      node,
      manager,
      mirrors,
      handlers,
      untilSynced: () => waitUntil('the source has synced', () => source.hasSynced()),
      close: async () => {
        await source.close();
        await Promise.all([manager.close(), mirrors.close()]);
      },
    };
  }

  const createPod = (name: string, spec: object = {}) =>
    cluster.api.create<Pod>(podsPath, {
      metadata: { name },
      spec: {
        nodeName,
        containers: [{ name: 'app', image: 'local.example/app:1', resources: { requests: { cpu: '0.5', memory: '64Mi' } } }],
        ...spec,
      },
    });
  const getPod = (name: string) => cluster.api.get<Pod>(`${podsPath}/${name}`);
  const untilPod = (name: string, what: string, check: (pod: Pod) => boolean) =>
    waitUntil(`${name} ${what}`, async () => check(await getPod(name)));
  const run = async (pod: Pod) => {
    const { node } = kubelet;
    await waitUntil('the pod’s sync has started', () => node.tasks.some(({ task }) => task.podUID === pod.metadata.uid));
    await node.completeTask(node.task('sync', pod.metadata.uid));
    await untilPod(pod.metadata.name, 'runs', ({ status }) => status?.phase === 'Running');
  };
  /** Starts another kubelet on the same runtime. */
  const restart = async () => {
    const runtime = kubelet.node.runtime;
    await kubelet.close();
    kubelet = await aKubelet();
    for (const [uid, status] of runtime) kubelet.node.runtime.set(uid, status);
    kubelet.node.cache.apply({
      statuses: [...runtime.values()].map((status) => ({ ...status, observedAtMs: 0 })),
      removed: [],
      events: [],
    });
    await kubelet.untilSynced();
  };

  before(async () => {
    bareCluster = await BareCluster.start(nodeName, logger);
    ({ cluster, connection } = bareCluster);
    kubelet = await aKubelet();
    await kubelet.untilSynced();
  });
  after(async () => {
    await kubelet?.close();
    await bareCluster?.close();
    // A request that the server refused appears in the log only.
    assert.deepEqual(
      lines.filter(({ msg }) => msg.startsWith('Failed to')).map(({ err, msg }) => [msg, (err as { message?: string })?.message]),
      [],
    );
  });
  beforeEach(() => {
    calls.length = 0;
  });

  test('run after two patches and no GET; a restarted kubelet writes nothing', async () => {
    const pod = await createPod('web');
    await run(pod);
    assert.deepEqual(calls, ['PATCH web/status', 'PATCH web/status']);
    const { status } = await getPod('web');
    assert.deepEqual([status?.podIP, status?.podIPs, status?.hostIP], ['10.0.0.7', [{ ip: '10.0.0.7' }], '192.0.2.1']);
    assert.deepEqual(status?.conditions?.map(({ type, status: value }) => `${type}=${value}`).toSorted(), [
      'ContainersReady=True',
      'Initialized=True',
      'PodReadyToStartContainers=True',
      'PodScheduled=True',
      'Ready=True',
    ]);
    await restart();
    await waitUntil('the pod’s sync has started', () => kubelet.node.tasks.length > 0);
    await kubelet.node.completeTask(kubelet.node.task('sync'));
    kubelet.manager.syncAll();
    assert.deepEqual(calls, ['PATCH web/status', 'PATCH web/status']);
  });

  test('keep conditions and a terminal phase of other writers', async () => {
    const pod = await createPod('shared', { readinessGates: [{ conditionType: 'example.com/gate' }] });
    await run(pod);
    const gate = { type: 'example.com/gate', status: 'True' };
    await cluster.api.patch(`${podsPath}/shared/status`, {
      status: { conditions: [...(await getPod('shared')).status!.conditions!, gate] },
    });
    await untilPod('shared', 'is ready', ({ status }) =>
      status!.conditions!.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
    );
    await cluster.api.patch(`${podsPath}/shared/status`, { status: { phase: 'Failed', reason: 'NodeLost' } });
    kubelet.node.runtime.set(
      podUID(pod),
      aRuntimePodStatus({ podUID: podUID(pod), podIPs: ['10.0.0.8'], containers: [aRuntimeContainer()] }),
    );
    kubelet.node.workers.wake([podUID(pod)]);
    await kubelet.node.completeAllTasks();
    await untilPod('shared', 'is still Failed', ({ status }) => status?.phase === 'Failed' && status.reason === 'NodeLost');
  });

  test('replace their addresses', async () => {
    const pod = await createPod('moved');
    await run(pod);
    const { node } = kubelet;
    const status = node.runtime.get(podUID(pod))!;
    node.cache.apply({ statuses: [{ ...status, podIPs: ['10.0.0.9'], observedAtMs: 1e6 }], removed: [], events: [] });
    node.workers.refreshStatuses([podUID(pod)]);
    await untilPod('moved', 'has its new address', (now) => now.status?.podIPs?.length === 1 && now.status.podIPs[0]?.ip === '10.0.0.9');
  });

  test('are terminal in the API before their deletion completes', async () => {
    const pod = await createPod('gone');
    await run(pod);
    calls.length = 0;
    await cluster.api.delete(`${podsPath}/gone`);
    const { node } = kubelet;
    await waitUntil('the pod’s termination has started', () =>
      node.tasks.some(({ task }) => task.kind === 'terminating' && task.podUID === pod.metadata.uid),
    );
    await node.completeTask(node.task('terminating', pod.metadata.uid));
    await untilPod('gone', 'has ended', ({ status }) => status?.phase === 'Succeeded');
    await node.completeTask(node.task('terminated', pod.metadata.uid));
    await waitUntil('the pod is gone', async () => (await cluster.api.find(`${podsPath}/gone`)) === undefined);
    assert.deepEqual(calls, ['PATCH gone/status', 'DELETE gone']);
  });

  test('inherit nothing from a predecessor of the same name', async () => {
    const pod = await createPod('again');
    await run(pod);
    await kubelet.node.completeAllTasks();
    const stale = { ...pod, metadata: { ...pod.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
    const statusManager = new StatusManager({
      client: connection.client,
      apiPod: () => stale,
      podManager: kubelet.node.podManager,
      firstStatusDelayMs: 0,
      timelines: kubelet.node.timelines,
      clock,
      logger,
      random: Math.random,
    });
    statusManager.set({ pod: stale, status: { phase: 'Running', podIP: '10.9.9.9' }, couldHaveRunningContainers: true, isFinished: false });
    await waitUntil('the recreated pod is detected', () =>
      lines.some(({ msg }) => msg === 'Pod was deleted and then recreated, skipping status update'),
    );
    await statusManager.close();
    assert.equal((await getPod('again')).status?.podIP, '10.0.0.7');
  });

  test('mirror static pods: created, updated, recreated and removed', async () => {
    const annotations = {
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.hash': 'h1',
      'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
    };
    const pod = aPod({
      metadata: { name: `static-${nodeName}`, uid: 'static-uid', annotations },
      spec: { nodeName, tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
    });
    const { name } = pod.metadata;
    kubelet.handlers.add([pod]);
    await waitUntil('the pod’s sync has started', () => kubelet.node.tasks.some(({ task }) => task.podUID === 'static-uid'));
    await kubelet.node.completeTask(kubelet.node.task('sync', 'static-uid'));
    await waitUntil(
      'the mirror pod is Running',
      async () => (await cluster.api.find<Pod>(`${podsPath}/${name}`))?.status?.phase === 'Running',
    );
    const first = await getPod(name);
    assert.deepEqual(
      first.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]),
      [['Node', bareCluster.nodeUID]],
    );
    await cluster.api.delete(`${podsPath}/${name}`);
    await waitUntil('the mirror pod is created again and is Running', async () => {
      const found = await cluster.api.find<Pod>(`${podsPath}/${name}`);
      return found !== undefined && found.metadata.uid !== first.metadata.uid && found.status?.phase === 'Running';
    });
    kubelet.handlers.remove([kubelet.node.podManager.get('static-uid' as PodUID)!]);
    await kubelet.node.completeAllTasks();
    await waitUntil('the mirror pod is gone', async () => {
      await kubelet.node.completeAllTasks();
      // Housekeeping does the same in each round.
      kubelet.mirrors.reconcile();
      return (await cluster.api.find(`${podsPath}/${name}`)) === undefined;
    });
  });
});
