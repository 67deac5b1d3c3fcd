import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grpcCode } from '../../../../src/shared/cri/cri-error.ts';
import { ContainerEventType } from '../../../../src/shared/cri/generated/cri-v1.ts';
import { startInspectionDelayMs } from '../../../../src/workers/pleg/records/pods-to-inspect.ts';
import { settle } from '../../../support/fake-clock.ts';
import { exited } from '../../../support/runtime/fake-pleg-runtime.ts';
import { aPleg, died, u1 } from '../../../support/runtime/pleg-node.ts';

suite('the event stream of the runtime', () => {
  test('triggers an inspection long before the next relist', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.takeNotifications();
    await node.clock.advance(100);
    node.runtime.exit('u1-app', 4);
    node.runtime.sendEvent(died('u1-app', 'u1'));
    await settle();
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'ContainerDied u1-app']);
    assert.equal(node.relists(), 1);
  });

  test('a known item is inspected by its ID, even a final one; an unknown item requires a list', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.runtime.exit('u1-app', 4);
    node.runtime.sendEvent(died('u1-app', 'u1'));
    await settle();
    node.runtime.calls.length = 0;
    node.runtime.containers.delete('u1-app');
    node.runtime.sendEvent({ ...died('u1-app', 'u1'), containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT });
    await settle();
    assert.deepEqual(node.runtime.calls, ['sandboxStatus u1-s', 'containerStatus u1-app']);
    node.takeNotifications();
    node.runtime.addContainer('u1', 'other');
    node.runtime.exit('u1-other', 1);
    node.runtime.sendEvent(died('u1-other', 'u1'));
    await settle();
    assert.deepEqual(node.takeNotifications(), ['status u1: other=exited s=ready', 'ContainerDied u1-other']);
    assert.ok(node.runtime.calls.includes('listPod u1'));
  });

  test('the removal of many dead instances costs a linear number of calls and posted statuses', async (t) => {
    const cost = async (instances: number) => {
      const node = aPleg(t, { useEventStream: true, maxPods: 1000 });
      node.runtime.addPod('u1', 'app');
      for (let n = 0; n < instances; n += 1) node.runtime.addContainer('u1', `dead-${n}`, exited);
      const pleg = node.start();
      await settle();
      await pleg.inspectPod(u1);
      node.runtime.calls.length = 0;
      node.posted.length = 0;
      for (let n = 0; n < instances; n += 1) {
        node.runtime.containers.delete(`u1-dead-${n}`);
        node.runtime.sendEvent({ ...died(`u1-dead-${n}`, 'u1'), containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT });
        await node.clock.advance(1);
      }
      await node.clock.advance(instances);
      const last = node.posted.findLast(({ statuses }) => statuses.length > 0)!.statuses[0]!;
      assert.deepEqual(
        last.containers.map(({ name, state }) => `${name}=${state}`),
        ['app=running'],
      );
      const removed = node.posted.flatMap(({ events }) => events).filter(({ type }) => type === 'ContainerRemoved');
      assert.equal(removed.length, instances);
      const postedContainers = node.posted.flatMap(({ statuses }) => statuses).flatMap(({ containers }) => containers).length;
      return { calls: node.runtime.calls.length, postedContainers };
    };
    const few = await cost(100);
    const many = await cost(400);
    assert.ok(many.calls <= 4 * few.calls + 10, JSON.stringify({ few, many }));
    assert.ok(many.postedContainers <= 6 * few.postedContainers, JSON.stringify({ few, many }));
    assert.ok(many.postedContainers <= 400 * 4, JSON.stringify({ few, many }));
  });

  test('the removal of an unknown item requests nothing; that of a running container is inspected at once', async (t) => {
    const node = aPleg(t, { useEventStream: true, maxPods: 1000 });
    node.runtime.addPod('u1', 'app');
    for (let n = 0; n < 100; n += 1) node.runtime.addContainer('u1', `dead-${n}`, exited);
    const pleg = node.start();
    await settle();
    await pleg.inspectPod(u1);
    node.runtime.calls.length = 0;
    const deleted = { containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT };
    node.runtime.sendEvent({ ...died('u1-gone', 'u1'), ...deleted });
    await settle();
    assert.deepEqual(node.runtime.calls, []);
    node.takeNotifications();
    node.runtime.containers.delete('u1-app');
    node.runtime.sendEvent({ ...died('u1-app', 'u1'), ...deleted });
    await settle();
    assert.deepEqual(node.takeNotifications().slice(1), ['ContainerDied u1-app', 'ContainerRemoved u1-app']);
  });

  test('an event without a sandbox status belongs to the pod of the container', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.takeNotifications();
    node.runtime.sandboxes.clear();
    node.runtime.containers.clear();
    node.runtime.sendEvent({ containerId: 'u1-s', containerEventType: ContainerEventType.CONTAINER_DELETED_EVENT });
    await settle();
    assert.equal(node.takeNotifications()[0], 'gone u1');
  });

  test('the inspection of a start waits for the one that its sync requests', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    const pleg = node.start();
    await settle();
    await node.clock.advance(10);
    const started = { ...died('u1-app', 'u1'), containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT };
    node.runtime.addPod('u1', 'app');
    node.runtime.sendEvent(started);
    await node.clock.advance(1);
    await pleg.inspectPod(u1);
    await node.clock.advance(200);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 1);
    node.runtime.addContainer('u1', 'other');
    node.runtime.sendEvent(started);
    await node.clock.advance(200);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 1);
    await node.clock.advance(startInspectionDelayMs);
    assert.equal(node.runtime.calls.filter((call) => call === 'listPod u1').length, 2);
  });

  test('is optional, and is retried when another runtime serves the socket', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.runtime.failures.set('events', grpcCode.UNIMPLEMENTED);
    node.start();
    await node.clock.advance(5000);
    assert.equal(node.runtime.calls.filter((call) => call === 'events').length, 1);
    assert.deepEqual(
      node.lines.filter(({ level }) => level > 20),
      [],
    );
    node.runtime.failures.set('*', grpcCode.UNAVAILABLE);
    await node.clock.advance(5000);
    node.runtime.failures.clear();
    await node.clock.advance(5000);
    assert.equal(node.runtime.calls.filter((call) => call === 'events').length, 2);
  });

  test('that breaks reconnects with back-off and is logged twice', async (t) => {
    const node = aPleg(t, { useEventStream: true });
    node.start();
    await node.clock.advance(2000);
    node.runtime.failures.set('events', grpcCode.UNAVAILABLE);
    node.runtime.sendEvent(null);
    await node.clock.advance(30_000);
    const tries = node.runtime.calls.filter((call) => call === 'events').length;
    assert.ok(tries >= 8 && tries <= 14, `${tries} tries`);
    node.runtime.failures.clear();
    await node.clock.advance(8000);
    assert.deepEqual(
      node.lines.filter(({ msg }) => msg.includes('event stream')).map(({ msg }) => msg),
      ['The event stream of the runtime broke, using relists only until it is restored', 'The event stream of the runtime is restored'],
    );
  });
});
