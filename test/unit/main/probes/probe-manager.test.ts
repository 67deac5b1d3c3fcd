/** The manager with a fake thread: what the thread gets and when, which results count, and what they concern. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ProbeManager } from '../../../../src/main/probes/index.ts';
import type { ProbedPod, ProbeResult } from '../../../../src/shared/contracts/probes.ts';
import type { RuntimePodStatus } from '../../../../src/shared/contracts/runtime-status.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { Listeners } from '../../../../src/shared/concurrency/listeners.ts';
import { KubeletError } from '../../../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../support/pods/pods.ts';

const exec = { exec: { command: ['true'] } };
const gates = { H2CContainerProbe: false, GRPCContainerProbeTLS: false };
const uid = 'uid-web' as PodUID;
const id = 'container-0' as ContainerID;
const probed = aPod({
  spec: {
    containers: [aContainer({ livenessProbe: exec, readinessProbe: exec })],
    initContainers: [aContainer({ name: 'sidecar', restartPolicy: 'Always', startupProbe: exec })],
  },
});
const running = aRuntimePodStatus({ containers: [aRuntimeContainer(), aRuntimeContainer({ name: 'sidecar', id: 's' as ContainerID })] });

function aManager({ forgetsOnRestart = false } = {}) {
  const { logger, lines } = aLogger();
  const clock = new FakeClock();
  const node: { status: RuntimePodStatus | null } = { status: running };
  const sent: string[] = [];
  const pods: ProbedPod[] = [];
  const thread = {
    starts: new Listeners(),
    problem: null as Error | null,
    answer: Promise.resolve(),
    async setPods(given: readonly ProbedPod[]) {
      sent.push(`set ${given.map(describe).join(', ')}`);
      pods.push(...given);
      await thread.answer;
      if (thread.problem) throw thread.problem;
    },
    async removePods(uids: readonly PodUID[]) {
      sent.push(`remove ${uids.join(' ')}`);
    },
  };
  const manager = new ProbeManager({ thread, runtimeStatus: () => node.status, forgetsOnRestart, gates, clock, logger });
  const generated = (pod: Pod = probed, lifecycle: 'syncing' | 'terminating' | 'terminated' = 'syncing') =>
    manager.onStatusGenerated(pod, { podIP: '10.0.0.7', lifecycle });
  const apply = (result: Partial<ProbeResult>) => {
    const { changed, toSync } = manager.apply([{ podUID: uid, containerID: id, probe: 'readiness', result: 'success', ...result }]);
    return [...changed].map((one) => `status ${one}`).concat([...toSync].map((one) => `sync ${one}`));
  };
  const takeSent = async () => {
    await nextIteration();
    await nextIteration();
    return sent.splice(0);
  };
  return { manager, node, clock, thread, pods, lines, generated, apply, takeSent };
}

function describe({ uid: pod, terminating, containers }: ProbedPod): string {
  const texts = containers.map(({ id: one, started, probes }) => {
    const results = probes.map(({ probe, lastResult = '-' }) => `${probe}:${lastResult}`);
    return `${one}${started ? '' : ' (starting)'} ${results.join(' ')}`;
  });
  return `${pod}${terminating ? ' terminating' : ''} [${texts.join('; ')}]`;
}

const first = 'set uid-web [container-0 readiness:- liveness:-; s (starting) startup:-]';

test('a pod is sent when it changes, and not before something of it runs', async () => {
  const { generated, node, takeSent } = aManager();
  node.status = null;
  generated();
  assert.deepEqual(await takeSent(), []);
  node.status = running;
  generated();
  generated();
  assert.deepEqual(await takeSent(), [first]);
  generated();
  assert.deepEqual(await takeSent(), []);
  node.status = { ...running, containers: [anExitedContainer(1)] };
  generated();
  assert.deepEqual(await takeSent(), ['set uid-web []']);
  node.status = running;
  generated(probed, 'terminating');
  assert.deepEqual(await takeSent(), ['set uid-web terminating [container-0 readiness:- liveness:-; s (starting) startup:-]']);
  generated(probed, 'terminated');
  assert.deepEqual(await takeSent(), ['remove uid-web']);
});

test('a pod without probes is never sent', async () => {
  const { manager, generated, takeSent } = aManager();
  generated(aPod());
  manager.forget(uid);
  assert.deepEqual(await takeSent(), []);
  assert.equal(manager.verdicts(aPod()), undefined);
});

test('a change while a message is under way goes in the next one', async () => {
  const { generated, thread, takeSent } = aManager();
  const { promise, resolve } = Promise.withResolvers<void>();
  thread.answer = promise;
  generated();
  assert.deepEqual(await takeSent(), [first]);
  generated(probed, 'terminating');
  assert.deepEqual(await takeSent(), []);
  resolve();
  assert.equal((await takeSent()).length, 1);
});

test('a failed message is sent again; a closed thread gets none', async () => {
  const { generated, thread, clock, takeSent } = aManager();
  thread.problem = new KubeletError('DeadlineExceeded', 'no answer');
  generated();
  assert.deepEqual(await takeSent(), [first]);
  thread.problem = new KubeletError('ThreadClosed', 'closed');
  await clock.advance(1000);
  assert.deepEqual(await takeSent(), [first]);
  await clock.advance(1000);
  assert.deepEqual(await takeSent(), []);
});

test('a thread that starts again gets every pod with its results', async () => {
  const { thread, generated, apply, takeSent } = aManager();
  generated();
  apply({});
  apply({ probe: 'startup', containerID: 's' as ContainerID });
  await takeSent();
  thread.starts.notify();
  assert.deepEqual(await takeSent(), ['set uid-web [container-0 readiness:success liveness:-; s (starting) startup:success]']);
});

test('results concern the status, a sync, or nothing', () => {
  const { manager, generated, apply } = aManager();
  generated();
  assert.deepEqual(apply({}), ['status uid-web']);
  assert.deepEqual(apply({}), [], 'the same result');
  assert.deepEqual(apply({ result: 'failure' }), ['status uid-web']);
  assert.deepEqual(apply({ result: 'unknown' }), []);
  assert.deepEqual(apply({ probe: 'liveness' }), []);
  assert.equal(manager.hasFailed(uid), false);
  assert.deepEqual(apply({ probe: 'liveness', result: 'failure' }), ['sync uid-web']);
  assert.equal(manager.hasFailed(uid), true);
  assert.deepEqual(apply({ probe: 'startup', containerID: 's' as ContainerID }), ['status uid-web', 'sync uid-web']);
  assert.deepEqual(manager.verdicts(probed), { startup: new Map([['s', 'success']]), liveness: new Map([[id, 'failure']]) });
});

test('a container that has stopped is not ready, also while its status hides the stop', () => {
  const { manager, node, generated, apply } = aManager();
  generated();
  apply({ result: 'success' });
  assert.deepEqual(manager.results(uid, id), { readiness: 'success' });
  node.status = aRuntimePodStatus({ containers: [anExitedContainer(0, { id })] });
  generated();
  // What is published during a restart: the container as it ran.
  manager.adopt(probed, running, { containerStatuses: [{ name: 'main', containerID: `containerd://${id}`, ready: true } as never] });
  assert.deepEqual(manager.results(uid, id), { readiness: 'failure' });
});

test('results of unknown pods, replaced containers and ended pods are dropped', () => {
  const { manager, node, generated, apply } = aManager();
  assert.deepEqual(apply({}), [], 'before the pod is known');
  generated();
  assert.deepEqual(apply({ podUID: 'other' as PodUID }), []);
  assert.deepEqual(apply({ containerID: 'old' as ContainerID }), []);
  apply({ probe: 'liveness', result: 'failure' });
  node.status = aRuntimePodStatus({ containers: [aRuntimeContainer({ id: 'new' as ContainerID }), anExitedContainer(1)] });
  generated();
  assert.deepEqual(apply({ probe: 'liveness', result: 'failure' }), [], 'of the replaced container');
  node.status = aRuntimePodStatus({ containers: [aRuntimeContainer({ id: 'new' as ContainerID })] });
  generated();
  assert.equal(manager.hasFailed(uid), false);
  generated(probed, 'terminated');
  assert.deepEqual(apply({ containerID: 'new' as ContainerID }), []);
});

test('a terminating pod has readiness results only', () => {
  const { generated, apply } = aManager();
  generated(probed, 'terminating');
  assert.deepEqual(apply({ probe: 'liveness', result: 'failure' }), []);
  assert.deepEqual(apply({ probe: 'startup', containerID: 's' as ContainerID, result: 'failure' }), []);
  assert.deepEqual(apply({}), ['status uid-web']);
});

test('a result of an earlier kubelet counts for the same container, until this kubelet has one', () => {
  const reported = {
    containerStatuses: [
      { name: 'app', containerID: 'containerd://container-0', ready: true, started: true, image: '', imageID: '', restartCount: 0 },
    ],
    initContainerStatuses: [
      { name: 'sidecar', containerID: 'containerd://s', ready: true, started: true, image: '', imageID: '', restartCount: 0 },
    ],
  };
  const { manager, generated, apply } = aManager();
  manager.adopt(probed, running, reported);
  assert.deepEqual(
    [manager.results(uid, id), manager.results(uid, 's' as ContainerID)],
    [{ readiness: 'success' }, { startup: 'success' }],
  );
  generated();
  apply({ result: 'failure' });
  manager.adopt(probed, running, reported);
  assert.deepEqual(manager.results(uid, id), { readiness: 'failure' });

  const replaced = aManager();
  replaced.manager.adopt(probed, aRuntimePodStatus({ containers: [aRuntimeContainer({ id: 'new' as ContainerID })] }), reported);
  assert.equal(replaced.manager.results(uid, 'new' as ContainerID), undefined);

  const gated = aManager({ forgetsOnRestart: true });
  gated.manager.adopt(probed, running, reported);
  assert.equal(gated.manager.results(uid, id), undefined);
});

test('results that are adopted after the pod was sent start its probes again', async () => {
  const { manager, generated, takeSent } = aManager();
  generated();
  await takeSent();
  const app = { name: 'app', containerID: 'containerd://container-0', ready: true, started: true, image: '', imageID: '', restartCount: 0 };
  manager.adopt(probed, running, { containerStatuses: [app] });
  const again = ['remove uid-web', 'set uid-web [container-0 readiness:success liveness:-; s (starting) startup:-]'];
  assert.deepEqual(await takeSent(), again);
  manager.adopt(probed, running, { containerStatuses: [app] });
  assert.deepEqual(await takeSent(), []);
});

test('a success that is known late wins over the first failure of this kubelet, and begins the probes again', async () => {
  const { manager, generated, takeSent, apply } = aManager();
  generated();
  await takeSent();
  apply({ result: 'failure' });
  const app = { name: 'app', containerID: 'containerd://container-0', ready: true, started: true, image: '', imageID: '', restartCount: 0 };
  manager.adopt(probed, running, { containerStatuses: [app] }, { isLate: true });
  assert.deepEqual(manager.results(uid, id), { readiness: 'success' });
  assert.deepEqual((await takeSent()).slice(0, 1), ['remove uid-web']);
  apply({ result: 'failure' });
  assert.deepEqual(manager.results(uid, id), { readiness: 'failure' });
});

test('the events of one pod are limited as the recorder limits them', () => {
  const { manager, generated } = aManager();
  const events: RecordedEvent[] = [];
  generated();
  const event = { podUID: uid, container: 'app', reason: 'Unhealthy', message: 'Liveness probe failed: ' } as const;
  for (let second = 0; second < 500; second += 1) manager.recordEvents([event], { record: (one) => events.push(one) });
  assert.equal(events.length, 25);
});

test('events name the container as upstream’s; those of unknown pods and containers are dropped', () => {
  const { manager, generated } = aManager();
  const events: RecordedEvent[] = [];
  generated();
  const event = { podUID: uid, container: 'sidecar', reason: 'Unhealthy', message: 'Startup probe failed: ' } as const;
  manager.recordEvents([event, { ...event, podUID: 'other' as PodUID }, { ...event, container: 'other' }], {
    record: (one) => events.push(one),
  });
  assert.deepEqual(events, [
    {
      object: {
        kind: 'Pod',
        apiVersion: 'v1',
        namespace: 'default',
        name: 'web',
        uid: 'uid-web',
        fieldPath: 'spec.initContainers{sidecar}',
      },
      type: 'Warning',
      reason: 'Unhealthy',
      message: 'Startup probe failed: ',
    },
  ]);
});
