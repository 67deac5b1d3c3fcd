/** Events that the API server refuses: events of other pods are recorded nevertheless. */
import { after, before, describe, test } from 'node:test';
import { FaultyApiServer, type Fault, type Matches } from '../../support/api-server-faults.ts';
import { startSimulatedMember, type SimulatedMember } from '../../support/simulated-member.ts';
import { waitUntil } from '../../support/simulated-runtime.ts';

const nodeName = 'events-refused';
/** Far less than the two minutes for which an event is retried. */
const patienceMs = 40_000;

describe('while events of one namespace are', () => {
  const ends: (() => Promise<unknown>)[] = [];
  const hooks = { after: (end: () => Promise<unknown>) => void ends.unshift(end) };
  let node: SimulatedMember;
  let proxy: FaultyApiServer;
  let otherNamespace: string;
  before(async () => {
    node = await startSimulatedMember(hooks, nodeName, async (cluster) => {
      proxy = await FaultyApiServer.start(hooks, cluster, nodeName);
      return proxy.kubeconfig;
    });
    otherNamespace = await node.cluster.namespace(hooks);
  });
  after(async () => {
    for (const end of ends) await end();
  });

  for (const [what, fault] of [
    ['refused for a while', { answer: { status: 503, reason: 'ServiceUnavailable' } }],
    ['not answered', { hang: true }],
  ] as const satisfies readonly (readonly [string, Omit<Fault, 'matches'>])[]) {
    test(`${what}, events of another are recorded`, async () => {
      const name = what.replaceAll(' ', '-');
      const isRefused: Matches = (method, path) => method === 'POST' && path.startsWith(`/api/v1/namespaces/${node.namespace}/events`);
      const asked = () => proxy.requests.filter(({ method, path }) => isRefused(method, path)).length;
      const before = asked();
      const stop = proxy.fault({ matches: isRefused, ...fault });
      const image = 'sim/unpullable:not-found';
      await node.create(name, { containers: [{ name: 'app', image }] });
      await waitUntil('an event was refused', () => asked() > before, patienceMs);
      await node.create(name, { containers: [{ name: 'app', image }] }, otherNamespace);
      const path = `/api/v1/namespaces/${otherNamespace}/events?fieldSelector=involvedObject.name%3D${name}`;
      await waitUntil(
        'the failure of the other pod is seen',
        async () => (await node.cluster.api.get<{ items: { reason: string }[] }>(path)).items.some(({ reason }) => reason === 'Failed'),
        patienceMs,
      );
      stop();
    });
  }
});
