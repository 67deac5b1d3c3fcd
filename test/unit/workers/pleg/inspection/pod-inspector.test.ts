import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { exited } from '../../../../support/runtime/fake-pleg-runtime.ts';
import { aPleg, summarize, u1 } from '../../../../support/runtime/pleg-node.ts';

suite('an inspection', () => {
  test('returns the current status, and null for a pod that the runtime does not have', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    assert.equal(await pleg.inspectPod(u1), null);
    node.runtime.addPod('u1', 'app');
    assert.equal(summarize((await pleg.inspectPod(u1))!), 'u1: app=running s=ready');
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), []);
  });

  test('starts after its request: requests during an inspection share the next one', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    const release = node.runtime.block('listPod u1');
    const first = pleg.inspectPod(u1);
    await settle();
    node.runtime.exit('u1-app', 1);
    const second = pleg.inspectPod(u1);
    const third = pleg.inspectPod(u1);
    release();
    const [seen, seenLater, seenToo] = await Promise.all([first, second, third]);
    assert.equal(summarize(seenLater!), 'u1: app=exited s=ready');
    assert.equal(seenToo, seenLater);
    assert.notEqual(seen, seenLater);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 2);
  });

  test('finds an item that a list assigned to another pod, and the other pod loses the item', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    // One list names another pod. Later replies are correct.
    node.runtime.sandboxes.set('u1-s', { podUID: 'u9', state: 0 });
    const pleg = node.start();
    await settle();
    node.runtime.sandboxes.set('u1-s', { podUID: 'u1', state: 0 });
    assert.equal(summarize((await pleg.inspectPod(u1))!), 'u1: app=running s=ready');
    node.takeNotifications();
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications().sort(), ['ContainerDied u1-s', 'ContainerRemoved u1-s', 'gone u9']);
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), []);
    assert.equal(node.snapshot.size, 2);
  });

  test('finds that a container was killed for memory, also when the runtime says so after its exit', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.runtime.exit('u1-app', 137, 'Error');
    assert.equal((await pleg.inspectPod(u1))?.containers[0]?.reason, 'Error');
    node.takeNotifications();
    node.runtime.exit('u1-app', 137, 'OOMKilled');
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready']);
    assert.equal((await pleg.inspectPod(u1))?.containers[0]?.reason, 'OOMKilled');
    const reads = () => node.runtime.calls.filter((call) => call === 'containerStatus u1-app').length;
    const before = reads();
    await node.clock.advance(5000);
    await pleg.inspectPod(u1);
    assert.equal(reads(), before, 'the status is final');
  });

  test('detects a removed pod', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addContainer('u1', 'ended', exited);
    const pleg = node.start();
    await settle();
    node.takeNotifications();
    node.runtime.sandboxes.clear();
    node.runtime.containers.clear();
    assert.equal(await pleg.inspectPod(u1), null);
    assert.deepEqual(node.takeNotifications().sort(), [
      'ContainerDied u1-app',
      'ContainerDied u1-s',
      'ContainerRemoved u1-app',
      'ContainerRemoved u1-ended',
      'ContainerRemoved u1-s',
      'gone u1',
    ]);
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), []);
    assert.equal(node.snapshot.size, 0);
  });

  test('requests the status of an exited container only once', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1');
    node.runtime.addContainer('u1', 'app', exited);
    const pleg = node.start();
    await settle();
    await pleg.inspectPod(u1);
    await pleg.inspectPod(u1);
    assert.equal(node.runtime.calls.filter((call) => call === 'containerStatus u1-app').length, 1);
    assert.equal(node.runtime.calls.filter((call) => call === 'sandboxStatus u1-s').length, 3);
  });

  test('rejects when the runtime is unavailable, and is retried when the runtime returns', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.takeNotifications();
    node.runtime.failures.set('*', grpcCode.UNAVAILABLE);
    await assert.rejects(pleg.inspectPod(u1), /Unavailable/);
    node.runtime.exit('u1-app', 2);
    node.runtime.failures.clear();
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'ContainerDied u1-app']);
  });

  test('without changes posts nothing', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await pleg.relist();
    node.takeNotifications();
    await node.clock.advance(10);
    assert.equal((await pleg.inspectPod(u1))?.observedAtMs, 10);
    assert.deepEqual(node.takeNotifications(), []);
  });

  test('keeps the IPs of a pod whose sandbox exited', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await pleg.relist();
    node.runtime.sandboxes.get('u1-s')!.state = 1;
    assert.deepEqual((await pleg.inspectPod(u1))?.podIPs, ['10.0.0.1']);
  });

  test('is not reverted by an older list', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.takeNotifications();
    // The runtime computes both lists of this relist now, but they arrive after the inspection.
    const release = node.runtime.block('listContainers');
    await node.clock.advance(1000);
    node.runtime.exit('u1-app', 5);
    node.runtime.addContainer('u1', 'next');
    await node.clock.advance(5);
    await pleg.inspectPod(u1);
    assert.deepEqual(node.takeNotifications(), [
      'status u1: app=exited next=running s=ready',
      'ContainerDied u1-app',
      'ContainerStarted u1-next',
    ]);
    release();
    await node.clock.advance(3000);
    assert.deepEqual(node.takeNotifications(), []);
  });

  test('posts the result for main also without a change, and before the answer', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    const results = () =>
      node.posted.splice(0).flatMap(({ statuses, removed, unchanged = false, relistedAtMs }) => {
        if (relistedAtMs !== undefined) return [];
        return [[...statuses.map(({ observedAtMs }) => observedAtMs), ...removed, unchanged]];
      });
    node.runtime.addPod('u1', 'app');
    await pleg.inspectPod(u1);
    assert.deepEqual(results(), [[0, false]]);
    await node.clock.advance(5);
    await pleg.inspectPod(u1);
    assert.deepEqual(results(), [[5, true]]);
    // The request arrives during an inspection of this thread, and shares none that began before it.
    const release = node.runtime.block('listPod u1');
    const other = pleg.inspectPod(u1);
    await settle();
    await node.clock.advance(5);
    const own = pleg.inspectPod(u1);
    release();
    await Promise.all([other, own]);
    assert.deepEqual(results(), [
      [5, true],
      [10, true],
    ]);
    assert.equal(await pleg.inspectPod('u2' as PodUID), null);
    assert.deepEqual(results(), [['u2', true]]);
  });

  test('after a sync requests created objects by their IDs, without a list', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    node.runtime.calls.length = 0;
    const containers = [{ id: 'u1-app' as ContainerID, sandboxID: 'u1-s' as SandboxID, name: 'app' }];
    const status = await pleg.inspectPod(u1, { sandbox: { id: 'u1-s' as SandboxID, podName: 'web', podNamespace: 'default' }, containers });
    assert.deepEqual(node.runtime.calls, ['sandboxStatus u1-s', 'containerStatus u1-app']);
    assert.deepEqual([status?.name, status?.namespace], ['web', 'default']);
    assert.deepEqual([status?.sandboxes[0]?.state, status?.containers[0]?.state, status?.containers[0]?.name], ['ready', 'running', 'app']);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    await node.clock.advance(2000);
    assert.deepEqual(node.takeNotifications(), []);
  });

  test('publishes no item before its age is known, because garbage collection would treat it as the oldest', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    const shown = () =>
      Object.fromEntries([...node.snapshot.all()].map(({ id, containerName, createdAtMs }) => [id, [containerName, createdAtMs > 0]]));
    const release = node.runtime.block('containerStatus u1-app');
    const containers = [{ id: 'u1-app' as ContainerID, sandboxID: 'u1-s' as SandboxID, name: 'app' }];
    const inspection = pleg.inspectPod(u1, { sandbox: { id: 'u1-s' as SandboxID, podName: 'web', podNamespace: 'default' }, containers });
    await settle();
    assert.deepEqual(shown(), { 'u1-s': ['', true] });
    release();
    await inspection;
    assert.deepEqual(shown(), { 'u1-s': ['', true], 'u1-app': ['app', true] });
  });

  test('does not repeat the status call of the sync for a new sandbox, unless a list differs', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    const u2 = node.runtime.addPod('u2', 'app');
    const inspectCreated = async (uid: string) => {
      const id = `${uid}-s` as SandboxID;
      const status = (await node.runtime.sandboxStatus(id, t.signal))!;
      const containers = [{ id: `${uid}-app` as ContainerID, sandboxID: id, name: 'app' }];
      return { sandbox: { id, podName: 'web', podNamespace: 'default', status }, containers };
    };
    const [first, second] = [await inspectCreated('u1'), await inspectCreated('u2')];
    node.runtime.calls.length = 0;
    const status = await pleg.inspectPod(u1, first);
    assert.deepEqual(node.runtime.calls, ['containerStatus u1-app']);
    assert.deepEqual(status && summarize(status), 'u1: app=running s=ready');
    node.runtime.sandboxes.get('u2-s')!.state = 1;
    await node.clock.advance(1000);
    assert.equal(summarize((await pleg.inspectPod(u2, second))!), 'u2: app=running s=notReady');
  });

  test('lists the pod before the first relist, because created objects may not be all objects', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'next');
    node.runtime.block('listContainers');
    const pleg = node.start();
    await settle();
    const containers = [{ id: 'u1-next' as ContainerID, sandboxID: 'u1-s' as SandboxID, name: 'next' }];
    const status = await pleg.inspectPod(u1, { containers });
    assert.deepEqual(status && summarize(status), 'u1: app=running next=running s=ready');
  });
});
