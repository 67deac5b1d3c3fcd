/** The kubelet's gRPC services with a real client: the pods API and the PodResources API, for pods of the API server and static pods. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from '../../../src/shared/pod-resources/generated/podresources-v1.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { decodePod } from '../../support/grpc/decode-pod.ts';
import { GrpcClient } from '../../support/grpc/grpc-client.ts';
import { PodsApiClient } from '../../support/grpc/pods-api-client.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-grpc';

describe('a kubelet with gRPC services', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
  });
  after(() => node?.destroy());

  const podsSocket = () => join(node.node.rootDir, 'pods-api/pods-api.sock');
  const resourcesSocket = () => join(node.node.rootDir, 'pod-resources/kubelet.sock');
  const aPodsClient = (t: TestContext) => {
    const client = new PodsApiClient(podsSocket());
    t.after(() => client.close());
    return client;
  };

  test('lists and watches pods of the API server and static pods from their start to their end', async (t) => {
    const client = aPodsClient(t);
    await waitUntil('the pods API is ready', () =>
      client.list().then(
        () => true,
        () => false,
      ),
    );
    const { events, cancel } = client.watch();
    const eventsOf = (name: string) => events().filter(({ pod }) => pod?.metadata.name === name);
    const until = (name: string, what: string, type: string) =>
      waitUntil(`${name} ${what}`, () => eventsOf(name).some((event) => event.type === type), 60_000);
    await waitUntil('the first list', () => events().some(({ type }) => type === 'INITIAL_SYNC_COMPLETE'));

    node.node.apply(aManifest('fixed', {}, { namespace: node.namespace }));
    const created = await node.create('web', { terminationGracePeriodSeconds: 5 }, { labels: { state: 'first' } });
    const { uid } = created.metadata;
    const fixed = await node.node.untilRunning('fixed').catch(() => node.untilRunning(`fixed-${nodeName}`));
    await node.untilRunning('web');

    const listed = await client.list();
    assert.deepEqual(
      listed.map(({ metadata }) => metadata.uid),
      listed.map(({ metadata }) => metadata.uid).toSorted(),
    );
    const staticPod = listed.find(({ metadata }) => metadata.name === `fixed-${nodeName}`);
    assert.ok(staticPod && staticPod.metadata.annotations?.['kubernetes.io/config.source'] === 'file', JSON.stringify(fixed.metadata));
    const web = decodePod((await client.get(uid)) as Uint8Array);
    assert.deepEqual([web.metadata.name, web.status?.phase, web.spec.containers[0]?.name], ['web', 'Running', 'app']);
    assert.equal(conditionOf(web.status, 'Ready'), 'True');
    assert.deepEqual(await client.get('none'), { code: 'NOT_FOUND', message: 'pod with UID none not found' });

    await node.kubectl('label', 'pod', 'web', '--overwrite', 'state=second');
    await waitUntil('the label', () => eventsOf('web').some(({ pod }) => pod?.metadata.labels?.['state'] === 'second'));
    await node.delete('web');
    node.node.delete('fixed');
    await until('web', 'ends', 'DELETED');
    await until(`fixed-${nodeName}`, 'ends', 'DELETED');
    await node.untilGone('web');
    await sleep(500);
    for (const name of ['web', `fixed-${nodeName}`]) {
      const types = eventsOf(name).map(({ type }) => type);
      assert.equal(types[0], 'ADDED', name);
      assert.equal(types.at(-1), 'DELETED', name);
      assert.deepEqual([...new Set(types.slice(1, -1))], ['MODIFIED'], name);
      assert.ok(eventsOf(name).every(({ type, pod }) => type === 'DELETED' || pod?.status?.phase));
    }
    const isDeleted = eventsOf('web').map(({ type, pod }) => type === 'DELETED' || pod?.metadata.deletionTimestamp !== undefined);
    assert.ok(!isDeleted.slice(isDeleted.indexOf(true)).includes(false), 'a deleted pod stays deleted');
    assert.deepEqual(eventsOf('web').at(-1)?.pod?.metadata.uid, uid);
    assert.ok(isDeleted.filter(Boolean).length > 1, 'the deletion was seen before the end');
    cancel();
  });

  test('is not ready until its sources are, and then shows no running pod as unready', async (t) => {
    const { metadata } = await node.create('kept');
    await node.untilRunning('kept');
    const client = aPodsClient(t);
    const answers = new Set<string>();
    const restarted = node.restartKubelet('SIGKILL');
    await waitUntil(
      'the pod is ready',
      async () => {
        const answer = await client.get(metadata.uid);
        const shown = 'code' in answer ? answer.code : `Ready ${conditionOf(decodePod(answer).status, 'Ready')}`;
        answers.add(shown === 'FAILED_PRECONDITION' && 'message' in answer ? answer.message : shown);
        return answers.has('UNAVAILABLE') && shown === 'Ready True';
      },
      60_000,
    );
    await restarted;
    assert.deepEqual(
      [...answers].filter((answer) => !['UNAVAILABLE', 'Kubelet is initializing', 'Ready True'].includes(answer)),
      [],
    );
  });

  test('lists the containers of pods for programs that ask for their resources', async (t) => {
    await node.create('sides', {
      initContainers: [aBusybox({ name: 'first', sh: 'true' }), { ...aBusybox({ name: 'side' }), restartPolicy: 'Always' }],
    });
    await node.create('over', { restartPolicy: 'Never', containers: [aBusybox({ sh: 'true' })] });
    await node.untilRunning('sides');
    await node.untilEnded('over');
    const client = new GrpcClient(resourcesSocket());
    t.after(() => client.close());
    assert.equal(statSync(join(node.node.rootDir, 'pod-resources')).mode & 0o777, 0o750);

    const service = '/v1.PodResourcesLister';
    const get = (podName: string) =>
      client.call(`${service}/Get`, GetPodResourcesRequest.encode({ podName, podNamespace: node.namespace }).finish());
    const containersOf = (pods: ListPodResourcesResponse['podResources'], name: string) =>
      pods.find((pod) => pod.name === name && pod.namespace === node.namespace)?.containers.map((container) => container.name);
    await waitUntil('the pod that is over is not listed', async () => {
      const { podResources } = ListPodResourcesResponse.decode(await client.ask(`${service}/List`));
      return containersOf(podResources, 'sides') && !containersOf(podResources, 'over');
    });
    const { podResources: listed } = ListPodResourcesResponse.decode(await client.ask(`${service}/List`));
    assert.deepEqual(containersOf(listed, 'sides'), ['side', 'app']);
    const sides = GetPodResourcesResponse.decode((await get('sides')) as Buffer).podResources;
    assert.deepEqual(
      sides,
      listed.find(({ name }) => name === 'sides'),
    );
    assert.deepEqual(sides?.containers[0], { name: 'side', devices: [], cpuIds: [], memory: [], dynamicResources: [] });
    for (const name of ['over', 'none'])
      assert.deepEqual(await get(name), { code: 'UNKNOWN', message: `pod ${name} in namespace ${node.namespace} not found` });
    assert.deepEqual(AllocatableResourcesResponse.decode(await client.ask(`${service}/GetAllocatableResources`)), {
      devices: [],
      cpuIds: [],
      memory: [],
    });
    const { podResources: old } = ListPodResourcesResponse.decode(await client.ask('/v1alpha1.PodResourcesLister/List'));
    assert.deepEqual([containersOf(old, 'sides'), containersOf(old, 'over')], [['app'], ['app']]);

    const metrics = await node.kubectl('get', '--raw', `${node.nodePath}/proxy/metrics`);
    for (const [name, value] of [
      ['pod_resources_endpoint_requests_get{server_api_version="v1"}', 3],
      ['pod_resources_endpoint_errors_get{server_api_version="v1"}', 2],
      ['pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"}', 1],
      ['pod_resources_endpoint_requests_total{server_api_version="v1alpha1"}', 1],
    ] as const)
      assert.ok(metrics.includes(`kubelet_${name} ${value}\n`), name);
    assert.match(metrics, /kubelet_pod_requests_get_total\{server_api_version="v1alpha1",status_code="OK"\} [1-9]/);
  });
});
