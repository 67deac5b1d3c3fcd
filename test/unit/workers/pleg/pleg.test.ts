/** The pleg's parts together, on a runtime in memory and a clock that the test moves. */
import assert from 'node:assert/strict';
import { status as code } from '@grpc/grpc-js';
import { suite, test, type TestContext } from 'node:test';
import type { PlegMessage } from '../../../../src/shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../../../src/shared/contracts/runtime-status.ts';
import { ContainerEventType, ContainerState } from '../../../../src/shared/cri/generated/cri-v1.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../../src/shared/state/runtime-snapshot.ts';
import { Pleg } from '../../../../src/workers/pleg/pleg.ts';
import { startPatienceMs } from '../../../../src/workers/pleg/pod-records.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { exited, FakePlegRuntime } from '../../../support/fake-pleg-runtime.ts';
import { aLogger } from '../../../support/logger.ts';

interface Options {
  readonly maxPods?: number;
  readonly useEventStream?: boolean;
}

/** A pleg that has not relisted yet. Pods are made by `runtime.addPod`; time passes by `clock.advance`. */
function aPleg(t: TestContext, { maxPods = 10, useEventStream = false }: Options = {}) {
  const runtime = new FakePlegRuntime();
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const posted: PlegMessage[] = [];
  const buffer = createRuntimeSnapshot(maxPods);
  let relists = 0;
  const start = () => {
    const pleg = new Pleg({
      runtime,
      snapshot: new RuntimeSnapshotWriter(buffer),
      post: (message) => void posted.push(structuredClone(message)),
      relistPeriodMs: 1000,
      useEventStream,
      onRelisted: () => (relists += 1),
      clock,
      logger,
    });
    t.after(() => pleg.close());
    return pleg;
  };
  return {
    runtime,
    clock,
    lines,
    start,
    snapshot: new RuntimeSnapshotReader(buffer),
    relists: () => relists,
    /** What was posted since the last question, shortly: `events`, `status` and `gone`, without the messages that only end a relist. */
    news: () =>
      posted
        .splice(0)
        .flatMap(({ events, statuses, gone }) => [
          ...statuses.map((status) => `status ${show(status)}`),
          ...gone.map((uid) => `gone ${uid}`),
          ...events.map((event) => ('containerID' in event ? `${event.type} ${event.containerID}` : `${event.type} ${event.podUID}`)),
        ]),
    posted,
  };
}

/** `u1: s=ready app=running` and ` !` with its failure's reason. */
function show({ podUID, sandboxes, containers, failure }: RuntimePodStatus): string {
  const parts = [
    ...sandboxes.map(({ id, state }) => `${id.slice(podUID.length + 1)}=${state}`),
    ...containers.map(({ name, state }) => `${name}=${state}`),
  ];
  return `${podUID}: ${parts.sort().join(' ')}${failure ? ` !${failure.reason}` : ''}`;
}

const u1 = 'u1' as PodUID;
const died = (id: string, podUID: string) => ({
  containerId: id,
  containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT,
  podSandboxStatus: { metadata: { uid: podUID } },
});

suite('a relist', () => {
  test('of a runtime with nothing says so', async (t) => {
    const node = aPleg(t);
    node.start();
    await settle();
    assert.deepEqual(node.posted, [{ relistedAtMs: 0, statuses: [], gone: [], events: [] }]);
    assert.equal(node.relists(), 1);
  });

  test('that is the first of a thread tells of the pods that went while its predecessor was dead', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    const first = node.start();
    await settle();
    await first.close();
    node.runtime.sandboxes.delete('u2-s');
    node.runtime.containers.delete('u2-app');
    node.news();
    node.runtime.failures.set('listContainers', code.UNAVAILABLE);
    node.start();
    await settle();
    assert.deepEqual(node.news(), []);
    assert.equal(node.snapshot.size, 4);
    node.runtime.failures.clear();
    await node.clock.advance(2000);
    assert.deepEqual(node.news(), [
      'gone u2',
      'PodSync u2',
      'status u1: app=running s=ready',
      'ContainerStarted u1-s',
      'ContainerStarted u1-app',
    ]);
    assert.equal(node.snapshot.size, 2);
  });

  test('finds pods, their deaths and their ends, each once, and looks at changed pods only', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'sidecar');
    node.runtime.addPod('u2', 'app');
    node.start();
    await settle();
    assert.deepEqual(node.news().sort(), [
      'ContainerStarted u1-app',
      'ContainerStarted u1-s',
      'ContainerStarted u1-sidecar',
      'ContainerStarted u2-app',
      'ContainerStarted u2-s',
      'status u1: app=running s=ready sidecar=running',
      'status u2: app=running s=ready',
    ]);
    assert.deepEqual(
      [...node.snapshot.all()].map(({ id, state, podName, containerName }) => `${id} ${state} ${podName} ${containerName}`).sort(),
      [
        'u1-app running name-u1 app',
        'u1-s running name-u1 ',
        'u1-sidecar running name-u1 sidecar',
        'u2-app running name-u2 app',
        'u2-s running name-u2 ',
      ],
    );
    node.runtime.calls.length = 0;
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), []);
    assert.deepEqual(new Set(node.runtime.calls), new Set(['listSandboxes', 'listContainers']));

    node.runtime.exit('u1-app', 7);
    node.runtime.calls.length = 0;
    await node.clock.advance(1000);
    const [{ events } = { events: [] }] = node.posted;
    assert.deepEqual(events, [{ type: 'ContainerDied', podUID: 'u1', containerID: 'u1-app', exitCode: 7 }]);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready sidecar=running', 'ContainerDied u1-app']);
    assert.ok(!node.runtime.calls.some((call) => call.includes('u2')));

    node.runtime.containers.delete('u1-app');
    node.runtime.containers.delete('u2-app');
    node.runtime.sandboxes.delete('u2-s');
    await node.clock.advance(1000);
    assert.deepEqual(node.news().sort(), [
      'ContainerDied u2-app',
      'ContainerDied u2-s',
      'ContainerRemoved u1-app',
      'ContainerRemoved u2-app',
      'ContainerRemoved u2-s',
      'gone u2',
      'status u1: s=ready sidecar=running',
    ]);
    assert.equal(node.snapshot.size, 2);
  });

  test('that fails changes nothing, is logged once, and is tried again with a growing delay', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.failures.set('*', code.UNAVAILABLE);
    await node.clock.advance(20_000);
    assert.deepEqual(node.news(), []);
    assert.equal(node.relists(), 1);
    const tries = node.runtime.calls.filter((call) => call === 'listContainers').length;
    assert.ok(tries >= 6 && tries <= 10, `${tries} tries in 20 s`);
    assert.deepEqual(
      node.lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
      ['relist failed; what is known of the runtime stays as it is until it answers'],
    );
    await assert.rejects(pleg.relist(), /listSandboxes: rpc error: code = Unavailable/);
    node.runtime.failures.clear();
    await node.clock.advance(4000);
    assert.deepEqual(node.news(), []);
    assert.equal(node.lines.at(-1)?.msg, 'relist succeeds again');
    assert.equal([...node.snapshot.all()].length, 2);
  });

  test('that is answered by garbage fails, and takes nothing for gone', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.news();
    t.mock.method(node.runtime, 'listContainers', () => Promise.resolve([Uint8Array.of(10, 200, 1)]));
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), []);
    const error = node.lines.find(({ level }) => level === 50);
    assert.match(JSON.stringify(error), /ListContainers: malformed reply at byte 1/);
  });

  test('leaves out an item that can’t be read, and keeps the rest', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const list = node.runtime.listContainers.bind(node.runtime);
    // A container whose metadata are longer than it is; scanned for its ID only, it looks well.
    const broken = Uint8Array.of(10, 7, 10, 1, 66, 26, 2, 10, 9);
    const noText = Uint8Array.of(10, 12, 10, 2, 0xff, 0xfe, 18, 4, 117, 49, 45, 115, 26, 0);
    t.mock.method(node.runtime, 'listContainers', async (signal: AbortSignal) => [...(await list(signal)), broken, noText]);
    node.start();
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.lines.filter(({ msg }) => msg === 'an item of the runtime is left out').length, 2);
  });

  test('keeps its period while a pod hangs, and tells of the others at once', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    node.runtime.addPod('u2', 'app');
    node.runtime.hold('containerStatus u1-wedged');
    node.start();
    await settle();
    assert.deepEqual(node.news(), ['status u2: app=running s=ready', 'ContainerStarted u2-s', 'ContainerStarted u2-app']);
    node.runtime.exit('u2-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), ['status u2: app=exited s=ready', 'ContainerDied u2-app']);
    await node.clock.advance(5000);
    assert.equal(node.relists(), 7);
  });

  test('asked for while one is under way begins anew, and ends when its events are posted', async (t) => {
    const node = aPleg(t);
    const release = node.runtime.hold('listContainers');
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    let done = false;
    const asked = pleg.relist().then(() => (done = true));
    await settle();
    assert.equal(done, false);
    release();
    await asked;
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.relists(), 2);
  });

  test('leaves out what it can’t place, says so once, and keeps the rest', async (t) => {
    const node = aPleg(t, { maxPods: 0 });
    node.runtime.addPod('u1', 'app');
    node.runtime.containers.set('x'.repeat(200), { ...node.runtime.addContainer('u1', 'long'), id: 'x'.repeat(200) });
    for (let n = 0; n < 300; n += 1) node.runtime.addContainer('u1', `c${n}`);
    node.start();
    await settle();
    await node.clock.advance(3000);
    const leftOut = node.lines.filter(({ msg }) => msg === 'an item of the runtime is left out');
    assert.equal(leftOut.filter(({ reason }) => String(reason).includes('200 bytes')).length, 1);
    assert.equal(leftOut.filter(({ reason }) => String(reason).includes('the snapshot is full: 200 rows')).length, 303 - 200);
    assert.equal(node.posted.find(({ statuses }) => statuses.length > 0)?.statuses[0]?.containers.length, 302);
  });
});

suite('a look', () => {
  test('answers with what is there now, and with null for a pod that the runtime does not have', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    assert.equal(await pleg.look(u1), null);
    node.runtime.addPod('u1', 'app');
    assert.equal(show((await pleg.look(u1))!), 'u1: app=running s=ready');
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), []);
  });

  test('never is an older one: who asks during one gets the next, shared by all who wait', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    const release = node.runtime.hold('listPod u1');
    const first = pleg.look(u1);
    await settle();
    node.runtime.exit('u1-app', 1);
    const second = pleg.look(u1);
    const third = pleg.look(u1);
    release();
    const [seen, seenLater, seenToo] = await Promise.all([first, second, third]);
    assert.equal(show(seenLater!), 'u1: app=exited s=ready');
    assert.equal(seenToo, seenLater);
    assert.notEqual(seen, seenLater);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 2);
  });

  test('finds a pod gone', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addContainer('u1', 'ended', exited);
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.sandboxes.clear();
    node.runtime.containers.clear();
    assert.equal(await pleg.look(u1), null);
    assert.deepEqual(node.news().sort(), [
      'ContainerDied u1-app',
      'ContainerDied u1-s',
      'ContainerRemoved u1-app',
      'ContainerRemoved u1-ended',
      'ContainerRemoved u1-s',
      'gone u1',
    ]);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), []);
    assert.equal(node.snapshot.size, 0);
  });

  test('asks about a container that has ended only once', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1');
    node.runtime.addContainer('u1', 'app', exited);
    const pleg = node.start();
    await settle();
    await pleg.look(u1);
    await pleg.look(u1);
    assert.equal(node.runtime.calls.filter((call) => call === 'containerStatus u1-app').length, 1);
    assert.equal(node.runtime.calls.filter((call) => call === 'sandboxStatus u1-s').length, 3);
  });

  test('rejects when nobody serves, and the pod is looked at again when somebody does', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.failures.set('*', code.UNAVAILABLE);
    await assert.rejects(pleg.look(u1), /Unavailable/);
    node.runtime.exit('u1-app', 2);
    node.runtime.failures.clear();
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready', 'ContainerDied u1-app']);
  });

  test('that changes nothing for main posts nothing', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.news();
    await node.clock.advance(10);
    assert.equal((await pleg.look(u1))?.observedAtMs, 10);
    assert.deepEqual(node.news(), []);
  });

  test('keeps showing the IPs of a pod whose sandbox has ended', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.runtime.sandboxes.get('u1-s')!.state = 1;
    assert.deepEqual((await pleg.look(u1))?.podIPs, ['10.0.0.1']);
  });

  test('is not undone by a list that was made before it', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.news();
    // Both lists of this relist are made now, and arrive after the look.
    const release = node.runtime.hold('listContainers');
    await node.clock.advance(1000);
    node.runtime.exit('u1-app', 5);
    node.runtime.addContainer('u1', 'next');
    await node.clock.advance(5);
    await pleg.look(u1);
    assert.deepEqual(node.news(), ['status u1: app=exited next=running s=ready', 'ContainerDied u1-app', 'ContainerStarted u1-next']);
    release();
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), []);
  });
});

suite('a container about which the runtime does not answer', () => {
  test('is named by its pod, left alone for longer and longer, and heard of when it answers', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.failures.set('containerStatus u1-wedged', code.DEADLINE_EXCEEDED);
    node.runtime.exit('u1-wedged', 9);
    await node.clock.advance(1000);
    const { statuses, events } = node.posted.find(({ statuses: some }) => some.length > 0)!;
    assert.match(
      statuses[0]!.failure!.message,
      /^status of container wedged \(u1-wedged\): containerStatus: rpc error: code = DeadlineExceeded/,
    );
    // The last that was known, and no event before its status is.
    assert.deepEqual([show(statuses[0]!), events], ['u1: app=running s=ready wedged=running !ContainerStatusUnknown', []]);
    node.runtime.calls.length = 0;
    await node.clock.advance(60_000);
    const asked = node.runtime.calls.filter((call) => call === 'containerStatus u1-wedged').length;
    assert.ok(asked >= 4 && asked <= 7, `asked ${asked} times in a minute`);
    // Who asks meanwhile is answered at once, without asking the runtime about it.
    node.runtime.calls.length = 0;
    assert.match(show((await pleg.look(u1))!), /!ContainerStatusUnknown/);
    assert.ok(!node.runtime.calls.includes('containerStatus u1-wedged'));
    node.news();
    node.runtime.failures.clear();
    await node.clock.advance(120_000);
    assert.deepEqual(node.news(), ['status u1: app=running s=ready wedged=exited', 'ContainerDied u1-wedged']);
  });

  test('does not keep the deaths beside it from main', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    node.start();
    await settle();
    node.news();
    node.runtime.failures.set('containerStatus u1-wedged', code.DEADLINE_EXCEEDED);
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready wedged=running !ContainerStatusUnknown', 'ContainerDied u1-app']);
  });

  test('that hangs is told of after two seconds, and sooner nobody waits for it', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'wedged');
    const release = node.runtime.hold('containerStatus u1-wedged');
    node.start();
    await settle();
    assert.equal(node.posted.length, 0);
    await node.clock.advance(1999);
    assert.equal(node.posted.length, 0);
    await node.clock.advance(1);
    assert.deepEqual(
      node.posted.map(({ relistedAtMs }) => relistedAtMs),
      [undefined, 0, 1000, 2000],
    );
    assert.match(node.posted[0]!.statuses[0]!.failure!.message, /no answer for 2000 ms/);
    node.news();
    release();
    await settle();
    assert.deepEqual(node.news(), ['status u1: s=ready wedged=running', 'ContainerStarted u1-wedged']);
  });

  test('a broken answer about one sandbox is its pod’s alone', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    node.runtime.failures.set('sandboxStatus u1-s', code.INTERNAL);
    node.start();
    await settle();
    assert.deepEqual(
      node
        .news()
        .filter((line) => line.startsWith('status'))
        .sort(),
      ['status u1: app=running s=ready !FailedPodSandBoxStatus', 'status u2: app=running s=ready'],
    );
    node.runtime.failures.clear();
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s']);
  });
});

suite('the event stream of the runtime', () => {
  test('makes a pod be looked at long before the next relist', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.news();
    await node.clock.advance(100);
    node.runtime.exit('u1-app', 4);
    node.runtime.say(died('u1-app', 'u1'));
    await settle();
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready', 'ContainerDied u1-app']);
    assert.equal(node.relists(), 1);
  });

  test('an event without a sandbox status is about the pod that has the container', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.news();
    node.runtime.sandboxes.clear();
    node.runtime.containers.clear();
    node.runtime.say({ containerId: 'u1-s', containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT });
    await settle();
    assert.equal(node.news()[0], 'gone u1');
  });

  test('a start waits a moment for the look that its sync will ask for', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    const pleg = node.start();
    await settle();
    await node.clock.advance(10);
    const started = { ...died('u1-app', 'u1'), containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT };
    node.runtime.addPod('u1', 'app');
    node.runtime.say(started);
    await node.clock.advance(1);
    await pleg.look(u1);
    await node.clock.advance(200);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 1);
    node.runtime.addContainer('u1', 'other');
    node.runtime.say(started);
    await node.clock.advance(200);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 1);
    await node.clock.advance(startPatienceMs);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 2);
  });

  test('what a sync has just made is asked about by its IDs, without a list', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    node.runtime.calls.length = 0;
    const containers = [{ id: 'u1-app' as ContainerID, sandboxID: 'u1-s' as SandboxID }];
    const status = await pleg.look(u1, { sandbox: { id: 'u1-s' as SandboxID, podName: 'web', podNamespace: 'default' }, containers });
    assert.deepEqual(node.runtime.calls, ['sandboxStatus u1-s', 'containerStatus u1-app']);
    assert.deepEqual([status?.name, status?.namespace], ['web', 'default']);
    assert.deepEqual([status?.sandboxes[0]?.state, status?.containers[0]?.state, status?.containers[0]?.name], ['ready', 'running', 'app']);
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    await node.clock.advance(2000);
    assert.deepEqual(node.news(), []);
  });

  test('a start is listed at once and looked at later; what main has of that pod is not complete meanwhile', async (t) => {
    const node = aPleg(t);
    node.start();
    await node.clock.advance(1);
    node.runtime.addPod('u1', 'app');
    await node.clock.advance(1000);
    assert.deepEqual(node.posted.at(-1), { relistedAtMs: 1000, unlooked: [u1], statuses: [], gone: [], events: [] });
    await node.clock.advance(startPatienceMs);
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.posted.at(-1)?.unlooked, undefined);
  });

  test('an end is looked at with the relist that finds it, also when it is a start that ended', async (t) => {
    const node = aPleg(t);
    node.start();
    await node.clock.advance(1);
    node.runtime.addPod('u1', 'app');
    await node.clock.advance(1000);
    node.runtime.containers.get('u1-app')!.state = ContainerState.CONTAINER_EXITED;
    await node.clock.advance(1000);
    assert.match(node.news()[0] ?? '', /^status u1: app=exited/);
  });

  test('is not missed where the runtime has none, and looked for again when another runtime is back', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.failures.set('events', code.UNIMPLEMENTED);
    node.start();
    await node.clock.advance(5000);
    assert.equal(node.runtime.calls.filter((call) => call === 'events').length, 1);
    assert.deepEqual(
      node.lines.filter(({ level }) => level > 20),
      [],
    );
    node.runtime.failures.set('*', code.UNAVAILABLE);
    await node.clock.advance(5000);
    node.runtime.failures.clear();
    await node.clock.advance(5000);
    assert.equal(node.runtime.calls.filter((call) => call === 'events').length, 2);
  });

  test('that breaks comes back with a growing delay, and is logged twice', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.start();
    await node.clock.advance(2000);
    node.runtime.failures.set('events', code.UNAVAILABLE);
    node.runtime.say(null);
    await node.clock.advance(30_000);
    const tries = node.runtime.calls.filter((call) => call === 'events').length;
    assert.ok(tries >= 8 && tries <= 14, `${tries} tries`);
    node.runtime.failures.clear();
    await node.clock.advance(8000);
    assert.deepEqual(
      node.lines.filter(({ msg }) => msg.includes('event stream')).map(({ msg }) => msg),
      [
        'the event stream of the runtime broke; relists alone tell what changes until it is back',
        'the event stream of the runtime is back',
      ],
    );
  });
});

test('closing ends a relist that hangs, and the connection', async (t) => {
  const node = aPleg(t, { useEventStream: true });
  node.runtime.hold('listSandboxes');
  const pleg = node.start();
  await settle();
  const asked = assert.rejects(pleg.relist(), /closing/);
  await pleg.close();
  await asked;
  assert.equal(node.runtime.closed, true);
  assert.equal(node.posted.length, 0);
});
