import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { RuntimeStatusCache } from '../../../../../src/main/pods/runtime-status-cache.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aPleg, summarize, u1 } from '../../../../support/runtime/pleg-node.ts';

suite('a container without a reply of the runtime', () => {
  test('appears as a failure of its pod, is retried with back-off, and is reported after a reply', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    const pleg = node.start();
    await settle();
    node.takeNotifications();
    node.runtime.failures.set('containerStatus u1-wedged', grpcCode.DEADLINE_EXCEEDED);
    node.runtime.exit('u1-wedged', 9);
    await node.clock.advance(1000);
    const { statuses, events } = node.posted.find(({ statuses: some }) => some.length > 0)!;
    assert.match(
      statuses[0]!.failure!.message,
      /^status of container wedged \(u1-wedged\): containerStatus: rpc error: code = DeadlineExceeded/,
    );
    // The last known status, and no event before the next reply.
    assert.deepEqual([summarize(statuses[0]!), events], ['u1: app=running s=ready wedged=running !ContainerStatusUnknown', []]);
    node.runtime.calls.length = 0;
    await node.clock.advance(60_000);
    const requests = node.runtime.calls.filter((call) => call === 'containerStatus u1-wedged').length;
    assert.ok(requests >= 4 && requests <= 7, `${requests} requests in a minute`);
    // Requests meanwhile are answered immediately, without a call.
    node.runtime.calls.length = 0;
    assert.match(summarize((await pleg.inspectPod(u1))!), /!ContainerStatusUnknown/);
    assert.ok(!node.runtime.calls.includes('containerStatus u1-wedged'));
    node.takeNotifications();
    node.runtime.failures.clear();
    await node.clock.advance(120_000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=running s=ready wedged=exited', 'ContainerDied u1-wedged']);
  });

  test('does not delay the death of another container', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    node.start();
    await settle();
    node.takeNotifications();
    node.runtime.failures.set('containerStatus u1-wedged', grpcCode.DEADLINE_EXCEEDED);
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(node.takeNotifications(), [
      'status u1: app=exited s=ready wedged=running !ContainerStatusUnknown',
      'ContainerDied u1-app',
    ]);
  });

  test('that hangs is reported after two seconds', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'wedged');
    node.runtime.containers.get('u1-wedged')!.state = 0;
    const release = node.runtime.block('containerStatus u1-wedged');
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
    node.takeNotifications();
    release();
    await settle();
    assert.deepEqual(node.takeNotifications(), ['status u1: s=ready wedged=created', 'PodSync u1']);
  });

  test('is not shown any more after a late reply, also when the relist before was slow', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    const releaseList = node.runtime.block('listContainers');
    const releaseStatus = node.runtime.block('sandboxStatus u1-s');
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(1100);
    releaseList();
    await node.clock.advance(2000);
    const cache = new RuntimeStatusCache();
    for (const message of node.posted.splice(0)) cache.apply(message);
    assert.match(cache.get(u1)?.failure?.message ?? '', /no answer for 2000 ms/);
    releaseStatus();
    await settle();
    for (const message of node.posted.splice(0)) cache.apply(message);
    assert.equal(cache.get(u1)?.failure, undefined);
  });

  test('the end of a slow inspection causes a sync even without changes', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.takeNotifications();
    const release = node.runtime.block('sandboxStatus u1-s');
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(3000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready !FailedPodSandBoxStatus', 'ContainerDied u1-app']);
    release();
    await settle();
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'PodSync u1']);
  });

  test('an invalid reply about a sandbox affects only its pod', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    node.runtime.failures.set('sandboxStatus u1-s', grpcCode.INTERNAL);
    for (const id of ['u1-app', 'u2-app']) node.runtime.exit(id, 1);
    node.start();
    await settle();
    assert.deepEqual(
      node
        .takeNotifications()
        .filter((line) => line.startsWith('status'))
        .sort(),
      ['status u1: app=exited s=ready !FailedPodSandBoxStatus', 'status u2: app=exited s=ready'],
    );
    node.runtime.failures.clear();
    await node.clock.advance(3000);
    assert.deepEqual(node.takeNotifications(), ['status u1: app=exited s=ready', 'ContainerStarted u1-s', 'PodSync u1']);
  });
});
