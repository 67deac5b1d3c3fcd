/** The API server is away for ten minutes while pods crash, end and are deleted: how often it is asked, and how soon it knows everything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reflector, type ApiCall, type ApiClient } from '../../../src/main/api/index.ts';
import { ServerAvailability } from '../../../src/main/api/http/server-availability.ts';
import { NodeLease } from '../../../src/main/node/node-lease.ts';
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import { StatusManager } from '../../../src/main/status/index.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { apiError, FakeApi } from '../../support/fake-api.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakePodApi } from '../../support/fake-pod-api.ts';
import { silentLogger } from '../../support/logger.ts';
import { aPod } from '../../support/pods.ts';

const podCount = 3;
/** From this one on they end, … */
const firstEnded = 1;
/** … and from this one on they were deleted, too. */
const firstDeleted = 2;
const awayMs = 600_000;
const startTime = '2026-01-01T00:00:00Z';
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1';

test('ten minutes without an API server: it is asked seldom, and knows all soon after its return', async (t) => {
  const [clock, api, podApi, stop] = [new FakeClock(), new FakeApi(), new FakePodApi(), new AbortController()];
  const logger = silentLogger;
  const unreachable = apiError(0, 'Unreachable', 'connect ECONNREFUSED');
  const asked = { watches: 0, leases: 0, pods: 0 };
  let isAway = false;
  api.on('PUT', leasePath, { metadata: { name: 'n1', resourceVersion: '1', ownerReferences: [{ uid: 'u1' }] }, spec: {} });
  api.on('GET', leasePath, { metadata: { name: 'n1', resourceVersion: '1', ownerReferences: [{ uid: 'u1' }] }, spec: {} });
  const presence = new ServerAvailability(clock);
  const client: ApiClient = {
    call: async <T>(call: ApiCall) => {
      asked[call.path === leasePath ? 'leases' : 'pods'] += 1;
      if (isAway) presence.markUnavailable();
      if (isAway && call.path === leasePath) throw unreachable;
      const answer = await (call.path === leasePath ? api : podApi).call<T>(call);
      presence.markAvailable();
      return answer;
    },
    onRecovery: (listener) => presence.onRecovery(listener),
    watch: (call) => {
      asked.watches += 1;
      if (isAway) api.refuseWatch(call.path, unreachable);
      return api.watch(call);
    },
  };

  const podManager = new PodManager();
  const manager = new StatusManager({ client, apiPod: podApi.apiPod, podManager, clock, logger, random: () => 0.5 });
  void manager.run(stop.signal);
  const shown: string[] = [];
  const reflector = Reflector.start<Pod>({
    client,
    path: '/api/v1/pods',
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    handler: { onReplace: (pods) => shown.push(...pods.map(({ metadata }) => metadata.name)), onChange: () => {} },
    clock,
    logger,
    random: () => 0.5,
  });
  const lease = new NodeLease({
    client,
    nodeName: 'n1',
    durationSeconds: 40,
    nodeUID: () => 'u1',
    onRepeatedHeartbeatFailure: () => {},
    deadlineMs: 10_000,
    clock,
    random: () => 0.5,
    logger,
  });
  void lease.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await Promise.all([manager.close(), reflector.close()]);
  });

  const pods = Array.from({ length: podCount }, (_, i) =>
    aPod({
      metadata: { name: `p${i}`, uid: `p${i}`, annotations: { 'kubernetes.io/config.source': 'api' } },
      status: { phase: 'Pending' },
    }),
  );
  for (const pod of pods) podApi.add(pod);
  for (const pod of pods)
    manager.set({ pod, status: { phase: 'Running', startTime }, couldHaveRunningContainers: true, isFinished: false });
  const first = await api.nextWatch('/api/v1/pods');
  first.push('BOOKMARK', { metadata: { resourceVersion: '10', annotations: { 'k8s.io/initial-events-end': 'true' } } });
  await clock.advance(20_000);
  assert.ok([...podApi.pods.values()].every(({ status }) => status?.phase === 'Running'));

  [isAway, podApi.failure] = [true, unreachable];
  first.fail(unreachable);
  Object.assign(asked, { watches: 0, leases: 0, pods: 0 });
  // Each crashes once a minute; at the end some end for good.
  for (const pod of pods.slice(firstDeleted)) podApi.change(pod.metadata.name, { metadata: { deletionTimestamp: startTime } });
  podApi.syncWatch();
  for (let minute = 1; minute <= awayMs / 60_000; minute += 1) {
    for (const [i, pod] of pods.entries()) {
      const containerStatuses = [{ name: 'app', ready: true, restartCount: minute, image: 'i', imageID: '', state: { running: {} } }];
      const isLast = minute === awayMs / 60_000;
      const phase = isLast && i >= firstEnded ? 'Succeeded' : 'Running';
      manager.set({
        pod,
        status: { phase, startTime, containerStatuses },
        couldHaveRunningContainers: phase === 'Running',
        isFinished: isLast && i >= firstDeleted,
      });
    }
    await clock.advance(60_000);
  }
  // For each pod: 10 s between two tries, as upstream's sweep. The watch: 8 to 16 s. The lease: its 7 s at most.
  assert.ok(asked.pods <= podCount * (awayMs / 10_000 + 6), `${asked.pods} calls for pods`);
  assert.ok(asked.watches <= awayMs / 8000 + 6, `${asked.watches} watches`);
  assert.ok(asked.leases <= awayMs / 1000, `${asked.leases} calls for the lease`);

  [isAway, podApi.failure] = [false, null];
  Object.assign(asked, { pods: 0 });
  const watches = api.watches.length;
  // The lease asks each 7 s, and a tenth more; who waits for the server's return asks within a second from then on.
  await clock.advance(9_000);
  assert.equal(api.watches.length, watches + 1);
  await clock.advance(7_000);
  for (const [i, pod] of pods.entries()) {
    const there = podApi.pods.get(pod.metadata.name);
    assert.equal(there?.status?.phase, i >= firstDeleted ? undefined : i >= firstEnded ? 'Succeeded' : 'Running', pod.metadata.name);
    if (there) assert.equal(there.status?.containerStatuses?.[0]?.restartCount, 10);
  }
  // One patch each, and one DELETE for those that were deleted.
  assert.equal(asked.pods, podCount + (podCount - firstDeleted));
  const renewals = api.callsTo('PUT', leasePath).length;
  const again = await api.nextWatch('/api/v1/pods');
  for (const pod of podApi.pods.values()) again.push('ADDED', pod);
  again.push('BOOKMARK', { metadata: { resourceVersion: '900', annotations: { 'k8s.io/initial-events-end': 'true' } } });
  await settle();
  assert.equal(shown.length, firstDeleted);
  await clock.advance(10_000);
  assert.ok(api.callsTo('PUT', leasePath).length > renewals);
});
