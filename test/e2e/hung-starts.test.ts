/**
 * RunPodSandbox calls that never return, with a real API server and the simulated runtime: other pods start and terminate
 * normally.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { grpcCode } from '../../src/shared/cri/cri-error.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { startSimulatedMember, type SimulatedMember } from '../support/cluster/simulated-member.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

/** More than the kubelet starts in parallel in its first burst. */
const hungPods = 4 * availableParallelism();
const waitTimeoutMs = 60_000;

describe('while 50 RunPodSandbox calls hang', () => {
  const hooks = new Cleanups();
  let node: SimulatedMember;
  before(async () => {
    node = await startSimulatedMember(hooks, 'hung-starts');
  });
  after(() => hooks.run());

  const pathOf = (name: string) => `/api/v1/namespaces/${node.namespace}/pods/${name}`;
  const untilRunning = (name: string) =>
    waitUntil(`${name} runs`, async () => (await node.cluster.api.get<Pod>(pathOf(name))).status?.phase === 'Running', waitTimeoutMs);
  const hangingSandboxCalls = async () => (await node.runtime.control.counters())['RunPodSandbox']?.inFlight ?? 0;

  test('critical and ordinary pods start, and deleted pods disappear', { timeout: 4 * waitTimeoutMs }, async () => {
    const { cluster, runtime } = node;
    const hung = Array.from({ length: hungPods }, (_, pod) => `hung-${pod}`);
    for (const name of hung) await runtime.control.fault({ call: 'RunPodSandbox', id: name, kind: 'hang' });
    await Promise.all(hung.map((name) => node.create(name)));
    await waitUntil('the first parallel calls hang', async () => (await hangingSandboxCalls()) >= availableParallelism(), waitTimeoutMs);

    await node.create('critical', { priorityClassName: 'system-node-critical' });
    await untilRunning('critical');

    await node.create('next');
    await untilRunning('next');
    await waitUntil('all other calls hang', async () => (await hangingSandboxCalls()) === hungPods, waitTimeoutMs);

    await Promise.all(hung.map((name) => cluster.api.delete(pathOf(name))));
    await node.create('after-deletion');
    await untilRunning('after-deletion');
    for (const name of hung) await waitUntil(`${name} is gone`, async () => !(await cluster.api.find(pathOf(name))), waitTimeoutMs);
    const { containers } = await runtime.control.state();
    assert.deepEqual(new Set(containers.map(({ podName }) => podName)), new Set(['after-deletion', 'critical', 'next']));
  });

  test('a pod whose sandbox cannot be created pulls its image with the first attempt only', async () => {
    const { runtime } = node;
    await runtime.control.addImage('sim/run:retried');
    const before = (await runtime.control.calls('RunPodSandbox')).length;
    await runtime.control.fault({ call: 'RunPodSandbox', id: 'retried', kind: 'fail', times: 2 });
    await node.create('retried', { containers: [{ name: 'app', image: 'sim/run:retried', imagePullPolicy: 'Always' }] });
    await untilRunning('retried');
    const sandboxCalls = (await runtime.control.calls('RunPodSandbox')).slice(before);
    const pulls = (await runtime.control.calls('PullImage')).filter(({ subject }) => subject === 'sim/run:retried');
    // The second pull is that of the container, whose policy is Always.
    assert.deepEqual([sandboxCalls.map(({ code }) => code), pulls.length], [[grpcCode.UNAVAILABLE, grpcCode.UNAVAILABLE, 0], 2]);
  });
});
