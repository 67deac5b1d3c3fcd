import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { SyncLoop, type SyncLoopHandlers } from '../../../src/main/sync-loop.ts';
import type { PlegNotification, PodLifecycleEvent } from '../../../src/shared/contracts/pleg.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';
import { aRuntimePodStatus } from '../../support/pods/pods.ts';

const uid = (name: string) => name as PodUID;
const died = (name: string): PodLifecycleEvent => ({
  type: 'ContainerDied',
  podUID: uid(name),
  containerID: `${name}-1` as ContainerID,
  exitCode: 1,
});
const started = (name: string, instance = 1): PodLifecycleEvent => ({
  type: 'ContainerStarted',
  podUID: uid(name),
  containerID: `${name}-${instance}` as ContainerID,
});
const notification = (events: readonly PodLifecycleEvent[], fields: Partial<PlegNotification> = {}): PlegNotification => ({
  statuses: [],
  removed: [],
  events,
  ...fields,
});

interface LoopOptions {
  readonly sourcesReady?: boolean;
  readonly handleUpdate?: (update: string) => Promise<void>;
  readonly handlers?: Partial<SyncLoopHandlers<string>>;
}

function aLoop({ sourcesReady = true, handleUpdate, handlers: replaced }: LoopOptions = {}) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const stop = new AbortController();
  const calls: string[] = [];
  const node = { updates: [] as string[], problem: null as string | null, due: [] as PodUID[], sourcesReady, beats: 0, ignoredStarts: '' };
  const cache = new RuntimeStatusCache();
  const loop = new SyncLoop<string>({ cache, beat: () => (node.beats += 1), clock, logger });
  const handlers: SyncLoopHandlers<string> = {
    runtimeErrors: () => node.problem,
    refreshStatuses: (uids) => {
      if (uids.length > 0) calls.push(`refresh ${uids.join(' ')}`);
    },
    shouldIgnoreStarts: (pod) => pod === node.ignoredStarts,
    takeUpdates: () => node.updates.splice(0),
    handleUpdate: (update) => {
      calls.push(update);
      return handleUpdate?.(update);
    },
    handlePodSyncs: (uids) => calls.push(`sync ${[...uids].join(' ')}`),
    handleContainerChanged: (_, id) => calls.push(`changed ${id}`),
    applyProbeResults: (results) => {
      calls.push(`probes ${results.length}`);
      return new Set(results.filter(({ result }) => result === 'failure').map(({ podUID }) => podUID));
    },
    handleProbeSyncs: (uids) => calls.push(`urgent ${[...uids].join(' ')}`),
    takeDue: () => node.due.splice(0),
    sourcesReady: () => node.sourcesReady,
    housekeep: () => calls.push(`housekeeping at ${clock.monotonic()}`),
    housekeepKnownPods: () => calls.push(`known pods at ${clock.monotonic()}`),
    ...replaced,
  };
  let running = Promise.resolve();
  const run = () => {
    running = loop.run(handlers, stop.signal);
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  const report = (update: string) => {
    node.updates.push(update);
    loop.onSourceReport();
  };
  const notify = (events: readonly PodLifecycleEvent[], fields?: Partial<PlegNotification>) =>
    loop.onPlegNotification(notification(events, fields));
  return { clock, lines, calls, node, cache, loop, run, report, notify, end };
}
function aRunningLoop(options?: LoopOptions) {
  const parts = aLoop(options);
  parts.run();
  return parts;
}
const withoutHousekeeping = (calls: string[]) => calls.filter((call) => !call.startsWith('housekeeping'));

test('an update that takes several iterations of the event loop ends before anything else is handled', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { calls, loop, report, notify, end } = aRunningLoop({
    handleUpdate: (update) => (update === 'ADD many' ? promise : Promise.resolve()),
  });
  await settle();
  calls.length = 0;
  report('ADD many');
  report('REMOVE one');
  loop.requestHousekeeping();
  notify([died('web')]);
  await settle();
  assert.deepEqual(calls, ['ADD many']);
  resolve();
  await settle();
  assert.deepEqual(calls.slice(0, 3), ['ADD many', 'REMOVE one', 'sync web']);
  assert.match(calls.at(-1) ?? '', /^housekeeping/);
  await end();
});

test('updates, events and due pods are handled at once, not at the next tick', async () => {
  const { calls, node, loop, report, notify, end } = aRunningLoop();
  await settle();
  report('ADD web');
  await settle();
  notify([died('web')]);
  await settle();
  node.due.push(uid('job'));
  loop.onDue();
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), ['ADD web', 'sync web', 'changed web-1', 'sync job']);
  await end();
});

test('several events of one pod cause one sync', async () => {
  const { calls, notify, end } = aRunningLoop();
  notify([died('a'), { type: 'PodSync', podUID: uid('a') }, { type: 'PodSync', podUID: uid('b') }]);
  notify([started('a', 2)]);
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), ['sync a b', 'changed a-1', 'changed a-2']);
  await end();
});

test('a removed container causes no sync', async () => {
  const { calls, notify, end } = aRunningLoop();
  notify([{ type: 'ContainerRemoved', podUID: uid('a'), containerID: 'a-1' as ContainerID }]);
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), []);
  await end();
});

const starts: { name: string; events: PodLifecycleEvent[]; ignored?: string; want: string[] }[] = [
  { name: 'a start of the worker’s own task', events: [started('web')], ignored: 'web', want: [] },
  { name: 'a start while another pod’s task is inspected', events: [started('web')], ignored: 'other', want: ['sync web'] },
  { name: 'a start that no task has caused', events: [started('web')], want: ['sync web'] },
  { name: 'a death in the inspection after a task', events: [died('web')], ignored: 'web', want: ['sync web'] },
  { name: 'a death right after a start', events: [started('web'), died('web')], ignored: 'web', want: ['sync web'] },
  {
    name: 'a repeated inspection',
    events: [started('web'), { type: 'PodSync', podUID: uid('web') }],
    ignored: 'web',
    want: ['sync web'],
  },
];
for (const { name, events, ignored, want } of starts) {
  test(`${want.length === 0 ? 'does not sync' : 'syncs'} a pod for ${name}, and reports its container’s change`, async () => {
    const { calls, node, notify, end } = aRunningLoop();
    await settle();
    calls.length = 0;
    node.ignoredStarts = ignored ?? '';
    notify(events);
    await settle();
    assert.deepEqual(withoutHousekeeping(calls), [...want, 'changed web-1']);
    await end();
  });
}

test('statuses are applied at once, before their events: also during an update and while the runtime is down', async () => {
  const update = Promise.withResolvers<void>();
  const { clock, calls, node, cache, report, notify, end } = aRunningLoop({ handleUpdate: () => update.promise });
  await settle();
  report('ADD many');
  await settle();
  calls.length = 0;
  notify([died('web')], { statuses: [aRuntimePodStatus({ podUID: uid('web') })] });
  assert.deepEqual(calls, ['refresh web']);
  assert.equal(cache.get(uid('web'))?.podUID, 'web');
  node.problem = 'container runtime is down';
  update.resolve();
  await clock.advance(20_000);
  notify([], { removed: [uid('web')] });
  assert.equal(calls.at(-1), 'refresh web');
  assert.equal(cache.get(uid('web')), null);
  await end();
});

test('a fault of the status handler does not lose the events', async () => {
  const boom = () => {
    throw new Error('no status');
  };
  const { calls, lines, notify, end } = aRunningLoop({ handlers: { refreshStatuses: boom } });
  notify([died('web')]);
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), ['sync web', 'changed web-1']);
  assert.equal(lines.filter(({ msg }) => msg === 'Contained a fault').length, 1);
  await end();
});

test('before the loop runs, statuses go into the cache and events are dropped: every pod is synced at the start', async () => {
  const { calls, cache, notify, run, end } = aLoop();
  notify([started('web'), died('web')], { relistedAtMs: 1, statuses: [aRuntimePodStatus({ podUID: uid('web') })] });
  assert.equal(cache.get(uid('web'))?.podUID, 'web');
  run();
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), []);
  await end();
});

test('while the runtime is down nothing is handled, and nothing is lost', async () => {
  const { clock, lines, calls, node, report, end } = aRunningLoop();
  node.problem = 'container runtime is down';
  report('ADD web');
  report('ADD job');
  // The loop was waiting for work; it finds the runtime down when it is woken.
  await clock.advance(20_000);
  assert.deepEqual(withoutHousekeeping(calls), []);
  const delays = lines.filter(({ msg }) => msg === 'Skipping pod synchronization').map(({ retryAfterMs }) => retryAfterMs);
  assert.deepEqual(delays.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  node.problem = null;
  await clock.advance(5000);
  assert.deepEqual(withoutHousekeeping(calls), ['ADD web', 'ADD job']);
  await end();
});

test('housekeeping runs every two seconds, and at once when it is requested', async () => {
  const { clock, calls, loop, end } = aRunningLoop();
  await clock.advance(5000);
  loop.requestHousekeeping();
  await settle();
  assert.deepEqual(calls, ['housekeeping at 0', 'housekeeping at 2000', 'housekeeping at 4000', 'housekeeping at 5000']);
  await end();
});

test('housekeeping waits until every source has reported', async () => {
  const { clock, calls, node, end } = aRunningLoop({ sourcesReady: false });
  await clock.advance(5000);
  assert.deepEqual(calls, ['known pods at 0', 'known pods at 2000', 'known pods at 4000']);
  node.sourcesReady = true;
  await clock.advance(2000);
  assert.deepEqual(calls.slice(3), ['housekeeping at 6000']);
  await end();
});

test('the loop beats every second', async () => {
  const { clock, node, end } = aRunningLoop();
  await settle();
  const before = node.beats;
  await clock.advance(3000);
  assert.ok(node.beats >= before + 3);
  await end();
});

test('probe results apply at once, also while an update is handled; their syncs wait for no iteration', async () => {
  const { calls, loop, report, end } = aRunningLoop({ handleUpdate: () => new Promise((resolve) => setImmediate(resolve)) });
  const result = { podUID: uid('a'), containerID: 'a-1' as ContainerID, probe: 'liveness' } as const;
  report('update');
  await Promise.resolve();
  loop.onProbeResults([{ ...result, result: 'success' }]);
  loop.onProbeResults([{ ...result, result: 'failure' }]);
  assert.deepEqual(withoutHousekeeping(calls), ['probes 1', 'probes 1', 'urgent a']);
  await end();
});

test('while the runtime is down probe results apply, and their syncs wait', async () => {
  const { clock, calls, node, loop, end } = aRunningLoop();
  await settle();
  node.problem = 'down';
  loop.onProbeResults([{ podUID: uid('a'), containerID: 'a-1' as ContainerID, probe: 'liveness', result: 'failure' }]);
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), ['probes 1']);
  node.problem = null;
  await clock.advance(5000);
  await settle();
  assert.deepEqual(withoutHousekeeping(calls), ['probes 1', 'sync a']);
  await end();
});

test('a step that throws ends neither the loop nor the steps after it', async () => {
  const calls: string[] = [];
  const boom = (step: string) => {
    calls.push(step);
    throw new Error(`no ${step}`);
  };
  const updates = ['one', 'two'];
  const { clock, lines, node, loop, notify, run, end } = aLoop({
    handlers: {
      takeUpdates: () => updates.splice(0),
      handleUpdate: async (update) => boom(update),
      handlePodSyncs: () => boom('syncs'),
      handleContainerChanged: () => boom('changed'),
      applyProbeResults: () => boom('probes'),
      housekeep: () => boom('housekeeping'),
    },
  });
  node.due.push(uid('a'));
  run();
  notify([died('b')]);
  loop.onProbeResults([{ podUID: uid('b'), containerID: 'c' as ContainerID, probe: 'liveness', result: 'failure' } as never]);
  await settle();
  assert.deepEqual(calls, ['one', 'probes', 'two', 'syncs', 'changed', 'syncs', 'housekeeping']);
  assert.equal(lines.filter(({ msg }) => msg === 'Contained a fault').length, calls.length);
  for (let second = 0; second < 2; second += 1) {
    clock.advance(1000);
    await settle();
  }
  assert.deepEqual(calls.slice(7), ['housekeeping']);
  await end();
});
