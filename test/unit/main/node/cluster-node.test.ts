import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/main/node/node-object.ts';
import type { AdmissionNode } from '../../../../src/main/pods/admission/admit-handler.ts';
import { apiError } from '../../../support/api-server/fake-api.ts';
import { aCluster, conflict, idle, path, status } from '../../../support/cluster/cluster-node-fixture.ts';

test('a restarted kubelet without changes writes one heartbeat and nothing else', async (t) => {
  const { patches, start, clock, existing } = await aCluster({
    existing: { metadata: { name: 'n1', labels: { foreign: 'x' } }, spec: { taints: [] } },
  });
  assert.ok(existing);
  await clock.advance(1500);
  const { sync } = await start(t);
  await sync();
  await clock.advance(60_000);
  // The first patch restores labels and the annotation that this Node lacks. The second is the first heartbeat.
  assert.deepEqual(
    patches().map((patch) => Object.keys(patch).join()),
    ['metadata', 'status'],
  );
  assert.deepEqual(Object.keys(patches()[1]?.status ?? {}), ['conditions']);
});

test('an unchanged node is reported every nodeStatusReportFrequency, with jitter after a change', async (t) => {
  const { patches, start, clock } = await aCluster({ existing: {} });
  await clock.advance(1500);
  const { sync } = await start(t);
  await sync();
  assert.equal(patches().length, 1);
  await clock.advance(280_000);
  assert.equal(patches().length, 1);
  await clock.advance(40_000);
  assert.equal(patches().length, 2);
});

test('a changed readiness is reported at once, and only once', async (t) => {
  const { patches, start, world, clock, events } = await aCluster();
  const { clusterNode, sync } = await start(t);
  await sync();
  world.network = 'container runtime network not ready: x';
  clusterNode.wake();
  await idle(clock);
  assert.deepEqual(
    patches().map(({ status: patched }) => patched?.conditions?.find(({ type }) => type === 'Ready')?.message),
    ['container runtime network not ready: x'],
  );
  await clock.advance(30_000);
  assert.equal(patches().length, 1);
  world.network = null;
  await clock.advance(10_500);
  assert.deepEqual(events.slice(-2), ['Node/n1 NodeNotReady', 'Node/n1 NodeReady']);
});

test('a readiness that changes without a wake-up is reported within a second', async (t) => {
  const { patches, start, world, clock } = await aCluster();
  const { sync } = await start(t);
  await sync();
  const readies = () => patches().flatMap((patch) => patch.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? []);
  world.problems = ['PLEG is not healthy: x'];
  await clock.advance(1100);
  assert.deepEqual(readies(), ['False']);
  world.problems = [];
  await clock.advance(1100);
  assert.deepEqual(readies(), ['False', 'True']);
});

for (const { name, until, reports } of [
  { name: 'is not reported as unready before the first relist', until: 'relisted', reports: [] },
  { name: 'is reported as unready when the first relist does not complete', until: 'never', reports: ['False'] },
]) {
  test(`a ready node with a restarted kubelet ${name}`, async (t) => {
    const mayReport = Promise.withResolvers<void>();
    const { patches, start, world, clock } = await aCluster({ existing: {}, mayReport: mayReport.promise });
    await clock.advance(1500);
    world.problems = ['PLEG is not healthy: pleg has yet to be successful'];
    const { sync } = await start(t);
    await sync();
    await clock.advance(3000);
    assert.deepEqual(patches(), []);
    if (until === 'relisted') {
      world.problems = [];
      mayReport.resolve();
    }
    await clock.advance(8000);
    assert.deepEqual(
      patches().flatMap((patch) => patch.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? []),
      reports,
    );
  });
}

test('a missing node is not requested more often after its threads recovered', async (t) => {
  const { api, start, server, world, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  world.problems = ['PLEG is not healthy: x'];
  await clock.advance(1100);
  const gone = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '50' } };
  server.node = null;
  watch.push('DELETED', gone);
  await clock.advance(1000);
  world.problems = [];
  const before = api.callsTo('GET', path).length;
  await clock.advance(20_000);
  assert.ok(api.callsTo('GET', path).length - before <= 3, `${api.callsTo('GET', path).length - before} times`);
});

test('a removed required label is restored', async (t) => {
  const { patches, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  server.node = {
    ...server.node!,
    metadata: { ...server.node!.metadata, resourceVersion: '9', labels: { 'kubernetes.io/os': 'windows' } },
  };
  watch.push('MODIFIED', server.node);
  await clock.advance(10_500);
  assert.equal(patches().at(-1)?.metadata?.labels?.['kubernetes.io/os'], 'linux');
});

test('fetch returns the current node and updates the store', async (t) => {
  const { api, start, server } = await aCluster();
  const { sync, clusterNode } = await start(t);
  await sync();
  server.node = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '9', labels: { disk: 'ssd' } } };
  // A hundred pods that arrive together share one request.
  const [seen]: AdmissionNode[] = await Promise.all(Array.from({ length: 100 }, () => clusterNode.fetch()));
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(seen?.metadata.labels?.['disk'], 'ssd');
  assert.equal(clusterNode.node().metadata.labels?.['disk'], 'ssd');
});

test('a cordon and its end are recorded as events', async (t) => {
  const { events, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  for (const [version, unschedulable] of [
    ['9', true],
    ['10', false],
  ] as const) {
    server.node = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: version }, spec: { unschedulable } };
    watch.push('MODIFIED', server.node);
    await clock.advance(10_500);
  }
  assert.deepEqual(events.slice(-2), ['Node/n1 NodeNotSchedulable', 'Node/n1 NodeSchedulable']);
});

test('a reboot is recorded as one event', async (t) => {
  const { events, start, clock, existing } = await aCluster({
    existing: { status: { nodeInfo: { bootID: 'boot-0' } as NonNullable<Node['status']>['nodeInfo'] & {} } },
  });
  assert.ok(existing);
  const { sync } = await start(t);
  await sync();
  await clock.advance(30_000);
  assert.equal(events.filter((event) => event === 'Node/n1 Rebooted').length, 1);
});

test('an outdated cached node costs one more attempt with a GET', async (t) => {
  const { api, start, world, clock, patches, failures } = await aCluster();
  const { clusterNode, sync } = await start(t);
  await sync();
  world.network = 'x';
  api.once('PATCH', status, conflict);
  clusterNode.wake();
  await idle(clock);
  await clock.advance(300);
  assert.equal(patches().length, 2);
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(failures(), 0);
});

test('a lost write that drops a volume is refused when it arrives late: the next status is written also without a change', async (t) => {
  let volumesInUse = ['v'];
  const { api, start, clock, patches } = await aCluster({ local: { volumesInUse: () => volumesInUse } });
  const { clusterNode, sync } = await start(t);
  await sync();
  await clock.advance(1000);
  volumesInUse = [];
  api.once('PATCH', status, apiError(0, 'Timeout'));
  const before = patches().length;
  clusterNode.wake();
  await idle(clock);
  volumesInUse = ['v'];
  await clock.advance(2000);
  const [lost, next, ...others] = patches().slice(before);
  assert.deepEqual([lost?.status?.volumesInUse, typeof lost?.metadata?.resourceVersion], [null, 'string']);
  assert.deepEqual(Object.keys(next?.status ?? {}), ['conditions']);
  assert.deepEqual(others, []);
});

test('an update that fails five times waits for the next heartbeat, and reports repeated failures', async (t) => {
  const { api, start, world, clock, failures, patches } = await aCluster();
  const { sync, clusterNode } = await start(t);
  await sync();
  world.network = 'x';
  api.on('PATCH', status, apiError(0, 'Timeout'));
  clusterNode.wake();
  await idle(clock);
  await clock.advance(8000);
  assert.equal(patches().length, 5);
  assert.equal(failures(), 4);
});
