/** Events that the API server refuses: events of other pods are recorded nevertheless. An API server that is too old is an event of the node. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FaultyApiServer, type Fault, type Matches } from '../../support/api-server/api-server-faults.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { startSimulatedMember, type SimulatedMember } from '../../support/cluster/simulated-member.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { kubernetesVersion, previousMinor } from '../../../src/shared/kubernetes/version.ts';

const nodeName = 'events-refused';
/** Far less than the two minutes for which an event is retried. */
const waitTimeoutMs = 40_000;

describe('while events of one namespace are', () => {
  const hooks = new Cleanups();
  let node: SimulatedMember;
  let proxy: FaultyApiServer;
  let otherNamespace: string;
  before(async () => {
    node = await startSimulatedMember(hooks, nodeName, {
      kubeconfigOf: async (cluster) => {
        proxy = await FaultyApiServer.start(hooks, cluster, nodeName);
        proxy.fault({ matches: (_, path) => path === '/version', object: { gitVersion: `v${previousMinor}.3` } });
        return proxy.kubeconfig;
      },
    });
    otherNamespace = await node.cluster.namespace(hooks);
  });
  after(() => hooks.run());

  test('not refused, the version of an API server that is older than the kubelet is one', async () => {
    const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${nodeName},reason%3DVersionSkew`;
    const event = await waitUntil(
      'the event is recorded',
      async () => (await node.cluster.api.get<{ items: { message: string }[] }>(path)).items[0],
      waitTimeoutMs,
    );
    const [server, kubelet] = [`v${previousMinor}.3`, kubernetesVersion];
    assert.equal(event.message, `The API server (${server}) is older than this kubelet (${kubelet}): upgrade the control plane first`);
  });

  for (const [title, fault] of [
    ['refused for a while', { answer: { status: 503, reason: 'ServiceUnavailable' } }],
    ['not answered', { hang: true }],
  ] as const satisfies readonly (readonly [string, Omit<Fault, 'matches'>])[]) {
    test(`${title}, events of another are recorded`, async () => {
      const name = title.replaceAll(' ', '-');
      const isEvent: Matches = (method, path) => method === 'POST' && path.startsWith(`/api/v1/namespaces/${node.namespace}/events`);
      const countRefused = () => proxy.requests.filter(({ method, path }) => isEvent(method, path)).length;
      const before = countRefused();
      const stop = proxy.fault({ matches: isEvent, ...fault });
      const image = 'sim/unpullable:not-found';
      await node.create(name, { containers: [{ name: 'app', image }] });
      await waitUntil('an event was refused', () => countRefused() > before, waitTimeoutMs);
      await node.create(name, { containers: [{ name: 'app', image }] }, otherNamespace);
      const path = `/api/v1/namespaces/${otherNamespace}/events?fieldSelector=involvedObject.name%3D${name}`;
      await waitUntil(
        'the failure of the other pod is recorded',
        async () => (await node.cluster.api.get<{ items: { reason: string }[] }>(path)).items.some(({ reason }) => reason === 'Failed'),
        waitTimeoutMs,
      );
      stop();
    });
  }
});
