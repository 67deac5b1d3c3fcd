import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isOnlyListed } from '../../../../../src/shared/contracts/runtime-status.ts';
import { grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { ContainerState } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { startInspectionDelayMs } from '../../../../../src/workers/pleg/records/pods-to-inspect.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aPleg, summarize, u1 } from '../../../../support/runtime/pleg-node.ts';

suite('a relist', () => {
  test('of an empty runtime posts a notification', async (t) => {
    const node = aPleg(t);
    node.start();
    await settle();
    assert.deepEqual(node.posted, [{ relistedAtMs: 0, statuses: [], removed: [], events: [] }]);
    assert.equal(node.relists(), 1);
  });

  test('that is the first of a thread reports pods that disappeared after the predecessor’s end', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    const first = node.start();
    await settle();
    await first.close();
    node.runtime.sandboxes.delete('u2-s');
    node.runtime.containers.delete('u2-app');
    node.takeNotifications();
    node.runtime.failures.set('listContainers', grpcCode.UNAVAILABLE);
    node.start();
    await settle();
    assert.deepEqual(node.takeNotifications(), []);
    assert.equal(node.snapshot.size, 4);
    node.runtime.failures.clear();
    await node.clock.advance(2000);
    assert.deepEqual(node.takeNotifications(), [
      'gone u2',
      'PodSync u2',
      'status u1: app=running s=ready',
      'ContainerStarted u1-s',
      'ContainerStarted u1-app',
    ]);
    assert.equal(node.snapshot.size, 2);
  });

  test('that is the first immediately reports running items from the lists; inspections wait for a request, or ten seconds', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    node.runtime.addPod('u3', 'app');
    node.runtime.exit('u3-app', 1);
    const sandboxCalls = () => node.runtime.calls.splice(0).filter((call) => call.startsWith('sandboxStatus'));
    const pleg = node.start();
    await settle();
    assert.deepEqual(sandboxCalls(), ['sandboxStatus u3-s']);
    const listed = node.posted.flatMap(({ statuses }) => statuses).filter(isOnlyListed);
    assert.deepEqual(listed.map(summarize).sort(), ['u1: app=running s=ready', 'u2: app=running s=ready']);
    assert.equal(node.posted.at(-1)?.uninspected, undefined);
    node.takeNotifications();
    await pleg.inspectPod(u1, { containers: [] });
    assert.deepEqual(sandboxCalls(), ['sandboxStatus u1-s']);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready']);
    await node.clock.advance(startInspectionDelayMs - 1);
    assert.deepEqual(sandboxCalls(), []);
    await node.clock.advance(1000);
    assert.deepEqual(sandboxCalls(), ['sandboxStatus u2-s']);
    assert.deepEqual(node.takeNotifications(), ['status u2: app=running s=ready']);
  });

  test('that is the first reports pods from the lists when the runtime does not say more, and inspects them again', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.exit('u1-app', 0);
    node.runtime.failures.set('containerStatus u1-app', grpcCode.UNAVAILABLE);
    node.start();
    await settle();
    assert.deepEqual(node.posted.flatMap(({ statuses }) => statuses).map(isOnlyListed), [true]);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'ContainerStarted u1-s', 'ContainerDied u1-app']);
    await node.clock.advance(1000);
    assert.deepEqual([node.posted.at(-1)?.uninspected, node.takeNotifications()], [['u1'], []]);
    node.runtime.failures.clear();
    await node.clock.advance(1000);
    const { statuses } = node.posted[0]!;
    assert.deepEqual(
      statuses.map(({ containers }) => containers.map(({ exitCode, listedOnly }) => [exitCode, listedOnly])),
      [[[0, undefined]]],
    );
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'PodSync u1']);
  });

  test('that is the first of a successor leaves main its statuses when the runtime does not say more', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const first = node.start();
    await first.relist();
    await first.close();
    node.takeNotifications();
    node.runtime.failures.set('containerStatus u1-app', grpcCode.UNAVAILABLE);
    node.start();
    await settle();
    assert.deepEqual([node.posted.at(-1)?.uninspected, node.takeNotifications()], [['u1'], []]);
  });

  test('that is the first of a successor inspects all pods, because main had more than the lists', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const first = node.start();
    await first.relist();
    await first.close();
    node.takeNotifications();
    node.runtime.calls.length = 0;
    node.start();
    await settle();
    assert.ok(node.runtime.calls.includes('sandboxStatus u1-s'));
    assert.deepEqual(node.posted.flatMap(({ statuses }) => statuses).filter(isOnlyListed), []);
    node.runtime.addContainer('u1', 'next');
    await node.clock.advance(1000);
    assert.deepEqual(node.posted.at(-1)?.uninspected, ['u1'], 'a start waits as ever');
  });

  test('reports pods, deaths and removals once, and inspects changed pods only', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'sidecar');
    node.runtime.addPod('u2', 'app');
    node.start();
    await settle();
    assert.deepEqual(node.takeNotifications().sort(), [
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
    assert.deepEqual(node.takeNotifications(), []);
    assert.deepEqual(new Set(node.runtime.calls), new Set(['listSandboxes', 'listContainers']));

    node.runtime.exit('u1-app', 7);
    node.runtime.calls.length = 0;
    await node.clock.advance(1000);
    const [{ events } = { events: [] }] = node.posted;
    assert.deepEqual(events, [{ type: 'ContainerDied', podUID: 'u1', containerID: 'u1-app', exitCode: 7 }]);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready sidecar=running', 'ContainerDied u1-app']);
    assert.ok(!node.runtime.calls.some((call) => call.includes('u2')));

    node.runtime.containers.delete('u1-app');
    node.runtime.containers.delete('u2-app');
    node.runtime.sandboxes.delete('u2-s');
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications().sort(), [
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

  test('that fails changes nothing, is logged once, and is retried with back-off', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await pleg.inspectPod(u1);
    node.takeNotifications();
    node.runtime.failures.set('*', grpcCode.UNAVAILABLE);
    await node.clock.advance(20_000);
    assert.deepEqual(node.takeNotifications(), []);
    assert.equal(node.relists(), 1);
    const tries = node.runtime.calls.filter((call) => call === 'listContainers').length;
    assert.ok(tries >= 6 && tries <= 10, `${tries} tries in 20 s`);
    assert.deepEqual(
      node.lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
      ['GenericPLEG: Unable to retrieve pods'],
    );
    await assert.rejects(pleg.relist(), /listSandboxes: rpc error: code = Unavailable/);
    node.runtime.failures.clear();
    await node.clock.advance(4000);
    assert.deepEqual(node.takeNotifications(), []);
    assert.equal(node.lines.at(-1)?.msg, 'relist succeeds again');
    assert.equal([...node.snapshot.all()].length, 2);
  });

  test('with malformed replies fails, and removes no item', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.takeNotifications();
    t.mock.method(node.runtime, 'listContainers', () => Promise.resolve([Uint8Array.of(10, 200, 1)]));
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), []);
    const error = node.lines.find(({ level }) => level === 50);
    assert.match(JSON.stringify(error), /ListContainers: malformed reply at byte 1/);
  });

  test('skips a malformed item and keeps the others', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const list = node.runtime.listContainers.bind(node.runtime);
    // A container whose metadata field is longer than its message. The scan for the ID does not detect this.
    const broken = Uint8Array.of(10, 7, 10, 1, 66, 26, 2, 10, 9);
    const noText = Uint8Array.of(10, 12, 10, 2, 0xff, 0xfe, 18, 4, 117, 49, 45, 115, 26, 0);
    t.mock.method(node.runtime, 'listContainers', async (signal: AbortSignal) => [...(await list(signal)), broken, noText]);
    node.start();
    await node.clock.advance(3000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.lines.filter(({ msg }) => msg === 'Skipped an item of the runtime').length, 2);
  });

  test('keeps its period while a pod hangs, and immediately reports the others', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    node.runtime.addPod('u2', 'app');
    node.start();
    await settle();
    node.takeNotifications();
    node.runtime.block('containerStatus u1-wedged');
    node.runtime.exit('u1-app', 1);
    node.runtime.exit('u2-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), ['status u2: app=exited s=ready', 'ContainerDied u2-app']);
    await node.clock.advance(5000);
    assert.equal(node.relists(), 7);
  });

  test('requested during another one starts after it, and resolves when its events are posted', async (t) => {
    const node = aPleg(t);
    const release = node.runtime.block('listContainers');
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    let done = false;
    const relist = pleg.relist().then(() => (done = true));
    await settle();
    assert.equal(done, false);
    release();
    await relist;
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.relists(), 2);
  });

  test('skips items without a pod, logs them once, and keeps the others', async (t) => {
    const node = aPleg(t, { maxPods: 0 });
    node.runtime.addPod('u1', 'app');
    node.runtime.containers.set('x'.repeat(200), { ...node.runtime.addContainer('u1', 'long'), id: 'x'.repeat(200) });
    for (let n = 0; n < 300; n += 1) node.runtime.addContainer('u1', `c${n}`);
    node.start();
    await settle();
    await node.clock.advance(3000);
    const skipped = node.lines.filter(({ msg }) => msg === 'Skipped an item of the runtime');
    assert.equal(skipped.filter(({ reason }) => String(reason).includes('200 bytes')).length, 1);
    assert.equal(skipped.filter(({ reason }) => String(reason).includes('the snapshot is full: 200 rows')).length, 303 - 200);
    assert.equal(node.posted.find(({ statuses }) => statuses.length > 0)?.statuses[0]?.containers.length, 302);
  });

  test('posts a start as uninspected, and inspects the pod later', async (t) => {
    const node = aPleg(t);
    node.start();
    await node.clock.advance(1);
    node.runtime.addPod('u1', 'app');
    await node.clock.advance(1000);
    assert.deepEqual(node.posted.at(-1), { relistedAtMs: 1000, uninspected: [u1], statuses: [], removed: [], events: [] });
    await node.clock.advance(startInspectionDelayMs);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    assert.equal(node.posted.at(-1)?.uninspected, undefined);
  });

  test('that finds an exit has the pod inspected immediately, even after a pending start', async (t) => {
    const node = aPleg(t);
    node.start();
    await node.clock.advance(1);
    node.runtime.addPod('u1', 'app');
    await node.clock.advance(1000);
    node.runtime.containers.get('u1-app')!.state = ContainerState.CONTAINER_EXITED;
    await node.clock.advance(1000);
    assert.match(node.takeNotifications()[0] ?? '', /^status u1: app=exited/);
  });
});

test('a thread waits for the runtime until its lists arrive, and after its failures, but not for a fault of its own', async (t) => {
  const node = aPleg(t);
  node.runtime.failures.set('listContainers', grpcCode.UNAVAILABLE);
  node.start();
  await settle();
  assert.equal(node.waits(), true, 'until the next attempt');
  node.runtime.failures.clear();
  await node.clock.advance(2000);
  assert.deepEqual([node.relists() > 0, node.waits()], [true, false]);

  const relists = node.relists();
  const waited: boolean[] = [];
  t.mock.method(node.runtime, 'listContainers', async () => {
    waited.push(node.waits());
    // No list of messages: an error where it is processed.
    return null;
  });
  await node.clock.advance(20_000);
  assert.deepEqual([node.relists(), node.waits()], [relists, false]);
  assert.ok(waited.length >= 3);
  assert.deepEqual(new Set(waited.slice(1)), new Set([false]), 'the first attempt may be a wait');
  t.mock.restoreAll();
  await node.clock.advance(5000);
  assert.ok(node.relists() > relists);
  node.runtime.block('listSandboxes');
  await node.clock.advance(1000);
  assert.equal(node.waits(), true, 'a wait counts again');
});

test('closing ends a hanging relist and the connection', async (t) => {
  const node = aPleg(t, { useEventStream: true });
  node.runtime.block('listSandboxes');
  const pleg = node.start();
  await settle();
  const relist = assert.rejects(pleg.relist(), /closing/);
  await pleg.close();
  await relist;
  assert.equal(node.runtime.closed, true);
  assert.equal(node.posted.length, 0);
});
