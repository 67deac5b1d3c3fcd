import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/main/node/node-object.ts';
import type { AdmissionNode } from '../../../../src/main/pods/admission/admit-handler.ts';
import { apiError } from '../../../support/fake-api.ts';
import { aCluster, conflict, idle, path, status } from '../../../support/cluster-node-fixture.ts';

test('a kubelet that starts again with nothing new writes one heartbeat and nothing else', async (t) => {
  const { patches, start, clock, existing } = await aCluster({
    existing: { metadata: { name: 'n1', labels: { foreign: 'x' } }, spec: { taints: [] } },
  });
  assert.ok(existing);
  await clock.advance(1500);
  const { sync } = await start(t);
  await sync();
  await clock.advance(60_000);
  // The first puts back labels and the annotation that this Node lacked; the second is the first heartbeat.
  assert.deepEqual(
    patches().map((patch) => Object.keys(patch).join()),
    ['metadata', 'status'],
  );
  assert.deepEqual(Object.keys(patches()[1]?.status ?? {}), ['conditions']);
});

test('a node that does not change beats each nodeStatusReportFrequency, spread after a change', async (t) => {
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

test('a node whose readiness changes is told at once, and not again', async (t) => {
  const { patches, start, world, clock, events } = await aCluster();
  const { membership, sync } = await start(t);
  await sync();
  world.network = 'container runtime network not ready: x';
  membership.wake();
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

test('a node whose threads come and go is told within a second, though nobody wakes it', async (t) => {
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
  { name: 'is not called unready before its pods were looked at', until: 'seen', reports: [] },
  { name: 'is called unready when its pods can’t be looked at', until: 'never', reports: ['False'] },
]) {
  test(`a ready node whose kubelet starts again ${name}`, async (t) => {
    const firstRelist = Promise.withResolvers<void>();
    const { patches, start, world, clock } = await aCluster({ existing: {}, firstRelist: firstRelist.promise });
    await clock.advance(1500);
    world.problems = ['PLEG is not healthy: pleg has yet to be successful'];
    const { sync } = await start(t);
    await sync();
    await clock.advance(3000);
    assert.deepEqual(patches(), []);
    if (until === 'seen') {
      world.problems = [];
      firstRelist.resolve();
    }
    await clock.advance(8000);
    assert.deepEqual(
      patches().flatMap((patch) => patch.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? []),
      reports,
    );
  });
}

test('a node that is not there is not asked for more often because its threads came back', async (t) => {
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

test('a label that every node must have is put back', async (t) => {
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

test('who must know the newest node is given it, and so are all others', async (t) => {
  const { api, start, server } = await aCluster();
  const { sync, membership } = await start(t);
  await sync();
  server.node = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '9', labels: { disk: 'ssd' } } };
  // A hundred pods that came together.
  const [seen]: AdmissionNode[] = await Promise.all(Array.from({ length: 100 }, () => membership.fetch()));
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(seen?.metadata.labels?.['disk'], 'ssd');
  assert.equal(membership.node().metadata.labels?.['disk'], 'ssd');
});

test('a cordon and its end are told', async (t) => {
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

test('a reboot is told once', async (t) => {
  const { events, start, clock, existing } = await aCluster({
    existing: { status: { nodeInfo: { bootID: 'boot-0' } as NonNullable<Node['status']>['nodeInfo'] & {} } },
  });
  assert.ok(existing);
  const { sync } = await start(t);
  await sync();
  await clock.advance(30_000);
  assert.equal(events.filter((event) => event === 'Node/n1 Rebooted').length, 1);
});

test('an old picture of the node costs one more try, from the server', async (t) => {
  const { api, start, world, clock, patches, failures } = await aCluster();
  const { membership, sync } = await start(t);
  await sync();
  world.network = 'x';
  api.once('PATCH', status, conflict);
  membership.wake();
  await idle(clock);
  await clock.advance(300);
  assert.equal(patches().length, 2);
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(failures(), 0);
});

test('heartbeats that fail five times are given up until the next, and connections are suspected', async (t) => {
  const { api, start, world, clock, failures, patches } = await aCluster();
  const { sync, membership } = await start(t);
  await sync();
  world.network = 'x';
  api.on('PATCH', status, apiError(0, 'Timeout'));
  membership.wake();
  await idle(clock);
  await clock.advance(8000);
  assert.equal(patches().length, 5);
  assert.equal(failures(), 4);
});
