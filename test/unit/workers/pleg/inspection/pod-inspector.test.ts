import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import type { ContainerID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { exited } from '../../../../support/fake-pleg-runtime.ts';
import { aPleg, show, u1 } from '../../../../support/pleg-node.ts';

suite('a look', () => {
  test('answers with what is there now, and with null for a pod that the runtime does not have', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    assert.equal(await pleg.inspectPod(u1), null);
    node.runtime.addPod('u1', 'app');
    assert.equal(show((await pleg.inspectPod(u1))!), 'u1: app=running s=ready');
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
    const first = pleg.inspectPod(u1);
    await settle();
    node.runtime.exit('u1-app', 1);
    const second = pleg.inspectPod(u1);
    const third = pleg.inspectPod(u1);
    release();
    const [seen, seenLater, seenToo] = await Promise.all([first, second, third]);
    assert.equal(show(seenLater!), 'u1: app=exited s=ready');
    assert.equal(seenToo, seenLater);
    assert.notEqual(seen, seenLater);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 2);
  });

  test('finds what a list once gave to another pod, and the other pod loses it', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    // One list names another pod; the runtime's next answers are right.
    node.runtime.sandboxes.set('u1-s', { podUID: 'u9', state: 0 });
    const pleg = node.start();
    await settle();
    node.runtime.sandboxes.set('u1-s', { podUID: 'u1', state: 0 });
    assert.equal(show((await pleg.inspectPod(u1))!), 'u1: app=running s=ready');
    node.news();
    await node.clock.advance(1000);
    assert.deepEqual(node.news().sort(), ['ContainerDied u1-s', 'ContainerRemoved u1-s', 'gone u9']);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), []);
    assert.equal(node.snapshot.size, 2);
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
    assert.equal(await pleg.inspectPod(u1), null);
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
    await pleg.inspectPod(u1);
    await pleg.inspectPod(u1);
    assert.equal(node.runtime.calls.filter((call) => call === 'containerStatus u1-app').length, 1);
    assert.equal(node.runtime.calls.filter((call) => call === 'sandboxStatus u1-s').length, 3);
  });

  test('rejects when nobody serves, and the pod is looked at again when somebody does', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.failures.set('*', grpcCode.UNAVAILABLE);
    await assert.rejects(pleg.inspectPod(u1), /Unavailable/);
    node.runtime.exit('u1-app', 2);
    node.runtime.failures.clear();
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready', 'ContainerDied u1-app']);
  });

  test('that changes nothing for main posts nothing', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await pleg.relist();
    node.news();
    await node.clock.advance(10);
    assert.equal((await pleg.inspectPod(u1))?.observedAtMs, 10);
    assert.deepEqual(node.news(), []);
  });

  test('keeps showing the IPs of a pod whose sandbox has ended', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    const pleg = node.start();
    await pleg.relist();
    node.runtime.sandboxes.get('u1-s')!.state = 1;
    assert.deepEqual((await pleg.inspectPod(u1))?.podIPs, ['10.0.0.1']);
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
    await pleg.inspectPod(u1);
    assert.deepEqual(node.news(), ['status u1: app=exited next=running s=ready', 'ContainerDied u1-app', 'ContainerStarted u1-next']);
    release();
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), []);
  });

  test('posts the number of the request that is pending, and none when it was not asked by number', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    const inspections = () => node.posted.splice(0).flatMap(({ events, inspection }) => (events.length > 0 ? [inspection] : []));
    node.runtime.addPod('u1', 'app');
    await pleg.inspectPod(u1);
    assert.deepEqual(inspections(), [undefined]);
    node.runtime.addContainer('u1', 'second');
    await pleg.inspectPod(u1, undefined, 1);
    assert.deepEqual(inspections(), [{ podUID: u1, sequence: 1 }]);
    // The request comes during an inspection that somebody else asked for, which sees all there is to see.
    node.runtime.addContainer('u1', 'third');
    const release = node.runtime.hold('listPod u1');
    const other = pleg.inspectPod(u1);
    await settle();
    const own = pleg.inspectPod(u1, undefined, 2);
    release();
    await Promise.all([other, own]);
    assert.deepEqual(inspections(), [{ podUID: u1, sequence: 2 }]);
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(inspections(), [undefined]);
  });

  test('after a sync asks about what that has made by its IDs, without a list', async (t) => {
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
    assert.deepEqual(node.news(), ['status u1: app=running s=ready', 'ContainerStarted u1-s', 'ContainerStarted u1-app']);
    await node.clock.advance(2000);
    assert.deepEqual(node.news(), []);
  });

  test('shows nothing to other threads before its age is known: garbage collection would take it for the oldest', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    const shown = () =>
      Object.fromEntries([...node.snapshot.all()].map(({ id, containerName, createdAtMs }) => [id, [containerName, createdAtMs > 0]]));
    const release = node.runtime.hold('containerStatus u1-app');
    const containers = [{ id: 'u1-app' as ContainerID, sandboxID: 'u1-s' as SandboxID, name: 'app' }];
    const look = pleg.inspectPod(u1, { sandbox: { id: 'u1-s' as SandboxID, podName: 'web', podNamespace: 'default' }, containers });
    await settle();
    assert.deepEqual(shown(), { 'u1-s': ['', true] });
    release();
    await look;
    assert.deepEqual(shown(), { 'u1-s': ['', true], 'u1-app': ['app', true] });
  });

  test('does not ask again what the sync was told of its new sandbox, unless a list knows better', async (t) => {
    const node = aPleg(t);
    const pleg = node.start();
    await settle();
    node.runtime.addPod('u1', 'app');
    const u2 = node.runtime.addPod('u2', 'app');
    const made = async (uid: string) => {
      const id = `${uid}-s` as SandboxID;
      const status = (await node.runtime.sandboxStatus(id, t.signal))!;
      const containers = [{ id: `${uid}-app` as ContainerID, sandboxID: id, name: 'app' }];
      return { sandbox: { id, podName: 'web', podNamespace: 'default', status }, containers };
    };
    const [first, second] = [await made('u1'), await made('u2')];
    node.runtime.calls.length = 0;
    const status = await pleg.inspectPod(u1, first);
    assert.deepEqual(node.runtime.calls, ['containerStatus u1-app']);
    assert.deepEqual(status && show(status), 'u1: app=running s=ready');
    node.runtime.sandboxes.get('u2-s')!.state = 1;
    await node.clock.advance(1000);
    assert.equal(show((await pleg.inspectPod(u2, second))!), 'u2: app=running s=notReady');
  });

  test('lists the pod where no whole list was had yet, whatever was made: it is not all that there is', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'next');
    node.runtime.hold('listContainers');
    const pleg = node.start();
    await settle();
    const containers = [{ id: 'u1-next' as ContainerID, sandboxID: 'u1-s' as SandboxID, name: 'next' }];
    const status = await pleg.inspectPod(u1, { containers });
    assert.deepEqual(status && show(status), 'u1: app=running next=running s=ready');
  });
});
