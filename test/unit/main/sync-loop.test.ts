import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SyncLoop } from '../../../src/main/sync-loop.ts';
import type { InspectionRequest, PodLifecycleEvent } from '../../../src/shared/contracts/pleg.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const uid = (name: string) => name as PodUID;
/** The number of an inspection after a task. */
const ownSequence = 7;
const died = (name: string): PodLifecycleEvent => ({
  type: 'ContainerDied',
  podUID: uid(name),
  containerID: `${name}-1` as ContainerID,
  exitCode: 1,
});

function aLoop({ sourcesReady = true, handling }: { sourcesReady?: boolean; handling?: (update: string) => Promise<void> } = {}) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  const did: string[] = [];
  const node = { updates: [] as string[], problem: null as string | null, due: [] as PodUID[], sourcesReady, beats: 0 };
  const handle = (update: string) => {
    did.push(update);
    return handling?.(update);
  };
  const loop = new SyncLoop<string>({
    runtimeErrors: () => node.problem,
    takeUpdates: () => node.updates.splice(0),
    handleUpdate: (update) => handle(update),
    handlePodSyncs: (uids) => did.push(`sync ${[...uids].join(' ')}`),
    shouldIgnoreStarts: ({ sequence }) => sequence === ownSequence,
    handleContainerChanged: (_, id) => did.push(`changed ${id}`),
    handleProbeResults: (results) => did.push(`probes ${results.length}`),
    takeDue: () => node.due.splice(0),
    sourcesReady: () => node.sourcesReady,
    housekeep: () => did.push(`housekeeping at ${clock.monotonic()}`),
    beat: () => (node.beats += 1),
    clock,
    logger,
  });
  const running = loop.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  const report = (update: string) => {
    node.updates.push(update);
    loop.onSourceReport();
  };
  return { clock, lines, did, node, loop, report, end };
}
const withoutHousekeeping = (did: string[]) => did.filter((what) => !what.startsWith('housekeeping'));

test('an update that takes several turns is whole before the next, and before anything else', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { did, loop, report, end } = aLoop({ handling: (update) => (update === 'ADD many' ? promise : Promise.resolve()) });
  await settle();
  did.length = 0;
  report('ADD many');
  report('REMOVE one');
  loop.requestHousekeeping();
  loop.onLifecycleEvents([died('web')]);
  await settle();
  assert.deepEqual(did, ['ADD many']);
  resolve();
  await settle();
  assert.deepEqual(did.slice(0, 3), ['ADD many', 'REMOVE one', 'sync web']);
  assert.match(did.at(-1) ?? '', /^housekeeping/);
  await end();
});

test('what happens is handled at once, not at the next tick', async () => {
  const { did, node, loop, report, end } = aLoop();
  await settle();
  report('ADD web');
  await settle();
  loop.onLifecycleEvents([died('web')]);
  await settle();
  node.due.push(uid('job'));
  loop.onDue();
  await settle();
  assert.deepEqual(withoutHousekeeping(did), ['ADD web', 'sync web', 'changed web-1', 'sync job']);
  await end();
});

test('many events of one pod are one look at it', async () => {
  const { did, loop, end } = aLoop();
  loop.onLifecycleEvents([died('a'), { type: 'PodSync', podUID: uid('a') }, { type: 'PodSync', podUID: uid('b') }]);
  loop.onLifecycleEvents([{ type: 'ContainerStarted', podUID: uid('a'), containerID: 'a-2' as ContainerID }]);
  await settle();
  assert.deepEqual(withoutHousekeeping(did), ['sync a b', 'changed a-1', 'changed a-2']);
  await end();
});

test('a container that was removed is no reason to look at its pod', async () => {
  const { did, loop, end } = aLoop();
  loop.onLifecycleEvents([{ type: 'ContainerRemoved', podUID: uid('a'), containerID: 'a-1' as ContainerID }]);
  await settle();
  assert.deepEqual(withoutHousekeeping(did), []);
  await end();
});

const started: PodLifecycleEvent = { type: 'ContainerStarted', podUID: uid('web'), containerID: 'web-1' as ContainerID };
const inspection = (sequence: number) => ({ podUID: uid('web'), sequence });
const inspections: { name: string; events: PodLifecycleEvent[]; inspection?: InspectionRequest; want: string[] }[] = [
  { name: 'a start of the worker’s own task', events: [started], inspection: inspection(ownSequence), want: [] },
  { name: 'a start that another inspection reports', events: [started], inspection: inspection(ownSequence + 1), want: ['sync web'] },
  { name: 'a start that a relist or a runtime event reports', events: [started], want: ['sync web'] },
  { name: 'a death, whoever asked', events: [died('web')], inspection: inspection(ownSequence), want: ['sync web'] },
  { name: 'a death right after a start', events: [started, died('web')], inspection: inspection(ownSequence), want: ['sync web'] },
  {
    name: 'a repeated inspection',
    events: [started, { type: 'PodSync', podUID: uid('web') }],
    inspection: inspection(ownSequence),
    want: ['sync web'],
  },
];
for (const { name, events, inspection: request, want } of inspections) {
  test(`${want.length === 0 ? 'does not sync' : 'syncs'} a pod for ${name}, and tidies its containers`, async () => {
    const { did, loop, end } = aLoop();
    await settle();
    did.length = 0;
    loop.onLifecycleEvents(events, request);
    await settle();
    assert.deepEqual(withoutHousekeeping(did), [...want, 'changed web-1']);
    await end();
  });
}

test('while the runtime is down nothing is handed on, and nothing is lost', async () => {
  const { clock, lines, did, node, report, end } = aLoop();
  node.problem = 'container runtime is down';
  report('ADD web');
  report('ADD job');
  // The loop was waiting for work; it finds the runtime down when it is woken.
  await clock.advance(20_000);
  assert.deepEqual(withoutHousekeeping(did), []);
  const delays = lines.filter(({ msg }) => msg === 'Skipping pod synchronization').map(({ retryAfterMs }) => retryAfterMs);
  assert.deepEqual(delays.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  node.problem = null;
  await clock.advance(5000);
  assert.deepEqual(withoutHousekeeping(did), ['ADD web', 'ADD job']);
  await end();
});

test('housekeeping comes each two seconds, and at once when it is asked for', async () => {
  const { clock, did, loop, end } = aLoop();
  await clock.advance(5000);
  loop.requestHousekeeping();
  await settle();
  assert.deepEqual(did, ['housekeeping at 0', 'housekeeping at 2000', 'housekeeping at 4000', 'housekeeping at 5000']);
  await end();
});

test('there is no housekeeping before every source has reported', async () => {
  const { clock, did, node, end } = aLoop({ sourcesReady: false });
  await clock.advance(5000);
  assert.deepEqual(did, []);
  node.sourcesReady = true;
  await clock.advance(2000);
  assert.equal(did.length, 1);
  await end();
});

test('the loop shows each second that it comes round', async () => {
  const { clock, node, end } = aLoop();
  await settle();
  const before = node.beats;
  await clock.advance(3000);
  assert.ok(node.beats >= before + 3);
  await end();
});

test('only the newest result of a probe counts', async () => {
  const { did, loop, end } = aLoop();
  const result = { podUID: uid('a'), containerID: 'a-1' as ContainerID, probe: 'readiness' } as const;
  loop.onProbeResults([{ ...result, result: 'failure' }]);
  loop.onProbeResults([{ ...result, result: 'success' }]);
  await settle();
  assert.deepEqual(withoutHousekeeping(did), ['probes 1']);
  await end();
});

test('a step that throws does not end the loop, nor keep the others from their turn', async () => {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  const did: string[] = [];
  const boom = (what: string) => {
    did.push(what);
    throw new Error(`no ${what}`);
  };
  const due = [uid('a')];
  const updates = ['one', 'two'];
  const loop = new SyncLoop<string>({
    runtimeErrors: () => null,
    takeUpdates: () => updates.splice(0),
    handleUpdate: async (update) => boom(update),
    handlePodSyncs: () => boom('syncs'),
    shouldIgnoreStarts: () => false,
    handleContainerChanged: () => boom('died'),
    handleProbeResults: () => boom('probes'),
    takeDue: () => due.splice(0),
    sourcesReady: () => true,
    housekeep: () => boom('housekeeping'),
    beat: () => {},
    clock,
    logger,
  });
  loop.onLifecycleEvents([died('b')]);
  loop.onProbeResults([{ podUID: uid('b'), containerID: 'c' as ContainerID, probe: 'liveness', result: 'failure' } as never]);
  const running = loop.run(stop.signal);
  await settle();
  assert.deepEqual(did, ['one', 'two', 'syncs', 'died', 'probes', 'syncs', 'housekeeping']);
  assert.equal(lines.filter(({ msg }) => msg === 'Contained a fault').length, did.length);
  for (let second = 0; second < 2; second += 1) {
    clock.advance(1000);
    await settle();
  }
  assert.deepEqual(did.slice(7), ['housekeeping']);
  stop.abort();
  await running;
});
