/** The API server is unavailable for ten minutes while pods crash, end and are deleted: the number of requests, and the time until all is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reflector, type ApiCall, type ApiClient } from '../../../src/main/api/index.ts';
import { ServerAvailability } from '../../../src/main/api/http/server-availability.ts';
import { NodeLease } from '../../../src/main/node/node-lease.ts';
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import { StatusManager } from '../../../src/main/pods/status/index.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { apiError, FakeApi } from '../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakePodApi } from '../../support/api-server/fake-pod-api.ts';
import { silentLogger } from '../../support/logger.ts';
import { aPodTimelines } from '../../support/pods/pod-parts.ts';
import { aPod } from '../../support/pods/pods.ts';

const podCount = 3;
/** The index of the first pod that ends. */
const firstEnded = 1;
/** The index of the first pod that is deleted as well. */
const firstDeleted = 2;
const outageMs = 600_000;
const startTime = '2026-01-01T00:00:00Z';
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1';

test('an API server that is unavailable for ten minutes gets few requests, and all statuses soon after its recovery', async (t) => {
  const [clock, api, podApi, stop] = [new FakeClock(), new FakeApi(), new FakePodApi(), new AbortController()];
  const logger = silentLogger;
  const unreachable = apiError(0, 'Unreachable', 'connect ECONNREFUSED');
  const requests = { watches: 0, leases: 0, pods: 0 };
  let isDown = false;
  api.on('PUT', leasePath, { metadata: { name: 'n1', resourceVersion: '1', ownerReferences: [{ uid: 'u1' }] }, spec: {} });
  api.on('GET', leasePath, { metadata: { name: 'n1', resourceVersion: '1', ownerReferences: [{ uid: 'u1' }] }, spec: {} });
  const availability = new ServerAvailability(clock);
  const client: ApiClient = {
    call: async <T>(call: ApiCall) => {
      requests[call.path === leasePath ? 'leases' : 'pods'] += 1;
      if (isDown) availability.markUnavailable();
      if (isDown && call.path === leasePath) throw unreachable;
      const answer = await (call.path === leasePath ? api : podApi).call<T>(call);
      availability.markAvailable();
      return answer;
    },
    onRecovery: (listener) => availability.onRecovery(listener),
    watch: (call) => {
      requests.watches += 1;
      if (isDown) api.failNextWatch(call.path, unreachable);
      return api.watch(call);
    },
  };

  const podManager = new PodManager();
  const manager = new StatusManager({
    client,
    apiPod: podApi.apiPod,
    podManager,
    firstStatusDelayMs: 0,
    timelines: aPodTimelines(clock),
    clock,
    logger,
    random: () => 0.5,
  });
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

  [isDown, podApi.failure] = [true, unreachable];
  first.fail(unreachable);
  Object.assign(requests, { watches: 0, leases: 0, pods: 0 });
  // Each pod crashes once a minute; at the end of the outage some pods end.
  for (const pod of pods.slice(firstDeleted)) podApi.change(pod.metadata.name, { metadata: { deletionTimestamp: startTime } });
  podApi.syncWatch();
  for (let minute = 1; minute <= outageMs / 60_000; minute += 1) {
    for (const [i, pod] of pods.entries()) {
      const containerStatuses = [{ name: 'app', ready: true, restartCount: minute, image: 'i', imageID: '', state: { running: {} } }];
      const isLast = minute === outageMs / 60_000;
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
  // Retry periods: 10 s for each pod, as upstream's sweep; 8 to 16 s for the watch; at most 7 s for the lease.
  assert.ok(requests.pods <= podCount * (outageMs / 10_000 + 6), `${requests.pods} calls for pods`);
  assert.ok(requests.watches <= outageMs / 8000 + 6, `${requests.watches} watches`);
  assert.ok(requests.leases <= outageMs / 1000, `${requests.leases} calls for the lease`);

  [isDown, podApi.failure] = [false, null];
  Object.assign(requests, { pods: 0 });
  const watches = api.watches.length;
  // The lease is renewed every 7.7 s at most; its success makes the other requests start within a second.
  await clock.advance(9_000);
  assert.equal(api.watches.length, watches + 1);
  await clock.advance(7_000);
  for (const [i, pod] of pods.entries()) {
    const written = podApi.pods.get(pod.metadata.name);
    assert.equal(written?.status?.phase, i >= firstDeleted ? undefined : i >= firstEnded ? 'Succeeded' : 'Running', pod.metadata.name);
    if (written) assert.equal(written.status?.containerStatuses?.[0]?.restartCount, 10);
  }
  // One patch for each pod, and one DELETE for each deleted pod.
  assert.equal(requests.pods, podCount + (podCount - firstDeleted));
  const renewals = api.callsTo('PUT', leasePath).length;
  const again = await api.nextWatch('/api/v1/pods');
  for (const pod of podApi.pods.values()) again.push('ADDED', pod);
  again.push('BOOKMARK', { metadata: { resourceVersion: '900', annotations: { 'k8s.io/initial-events-end': 'true' } } });
  await settle();
  assert.equal(shown.length, firstDeleted);
  await clock.advance(10_000);
  assert.ok(api.callsTo('PUT', leasePath).length > renewals);
});
