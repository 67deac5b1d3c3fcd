import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aPleg, show, u1 } from '../../../../support/pleg-node.ts';

suite('a container about which the runtime does not answer', () => {
  test('is named by its pod, left alone for longer and longer, and heard of when it answers', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app', 'wedged');
    const pleg = node.start();
    await settle();
    node.news();
    node.runtime.failures.set('containerStatus u1-wedged', grpcCode.DEADLINE_EXCEEDED);
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
    assert.match(show((await pleg.inspectPod(u1))!), /!ContainerStatusUnknown/);
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
    node.runtime.failures.set('containerStatus u1-wedged', grpcCode.DEADLINE_EXCEEDED);
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(1000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready wedged=running !ContainerStatusUnknown', 'ContainerDied u1-app']);
  });

  test('that hangs is told of after two seconds, and sooner nobody waits for it', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'wedged');
    node.runtime.containers.get('u1-wedged')!.state = 0;
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
    assert.deepEqual(node.news(), ['status u1: s=ready wedged=created', 'PodSync u1']);
  });

  test('whoever waits for the end of a slow look is woken by it, also where it found nothing new', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.start();
    await settle();
    node.news();
    const release = node.runtime.hold('sandboxStatus u1-s');
    node.runtime.exit('u1-app', 1);
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready !FailedPodSandBoxStatus', 'ContainerDied u1-app']);
    release();
    await settle();
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready', 'PodSync u1']);
  });

  test('a broken answer about one sandbox is its pod’s alone', async (t) => {
    const node = aPleg(t);
    node.runtime.addPod('u1', 'app');
    node.runtime.addPod('u2', 'app');
    node.runtime.failures.set('sandboxStatus u1-s', grpcCode.INTERNAL);
    for (const id of ['u1-app', 'u2-app']) node.runtime.exit(id, 1);
    node.start();
    await settle();
    assert.deepEqual(
      node
        .news()
        .filter((line) => line.startsWith('status'))
        .sort(),
      ['status u1: app=exited s=ready !FailedPodSandBoxStatus', 'status u2: app=exited s=ready'],
    );
    node.runtime.failures.clear();
    await node.clock.advance(3000);
    assert.deepEqual(node.news(), ['status u1: app=exited s=ready', 'ContainerStarted u1-s', 'PodSync u1']);
  });
});
