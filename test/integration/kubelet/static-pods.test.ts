import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';

function aManifest(name: string, image: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { dnsPolicy: 'Default', terminationGracePeriodSeconds: 2, containers: [{ name: 'app', image }], ...spec },
  };
}
const isRunning = ({ status }: { status?: { phase?: string } }) => status?.phase === 'Running';

async function gone(node: StandaloneNode, uid: string): Promise<void> {
  await waitUntil('nothing of the pod is left', async () => {
    const { sandboxes, containers } = await node.runtime.control.state();
    const inRuntime = [...sandboxes, ...containers].some(({ podUID }) => podUID === uid);
    const onDisk = readdirSync(join(node.folder, 'kubelet/pods')).includes(uid);
    return !inRuntime && !onDisk && (await node.pods()).every(({ metadata }) => metadata.uid !== uid);
  });
}

test('a kubelet with a folder of manifests', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  await t.test('a pod runs while its manifest exists, and nothing of it is left afterwards', async () => {
    node.writeManifest('web.json', aManifest('web', 'sim/run:1'));
    const pod = await node.waitForPod('web', 'runs', isRunning);
    assert.equal(pod.status?.containerStatuses?.[0]?.ready, true);
    assert.ok(pod.status?.podIP);
    node.removeManifest('web.json');
    await gone(node, pod.metadata.uid);
  });

  await t.test('a crashing container restarts, and then backs off', async () => {
    node.writeManifest('crash.json', aManifest('crash', 'sim/exit:3'));
    const pod = await node.waitForPod(
      'crash',
      'backs off',
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    const [app] = pod.status?.containerStatuses ?? [];
    assert.equal(app?.lastState?.terminated?.exitCode, 3);
    assert.match(app?.state?.waiting?.message ?? '', /back-off 10s restarting failed container=app/);
  });

  await t.test('a killed container restarts', async () => {
    node.writeManifest('killed.json', aManifest('killed', 'sim/run:1'));
    await node.waitForPod('killed', 'runs', isRunning);
    const { containers } = await node.runtime.control.state();
    await node.runtime.control.exitContainer(containers.find(({ podName }) => podName === 'killed-node-1')!.id, 137);
    const pod = await node.waitForPod('killed', 'runs again', ({ status }) => {
      const [app] = status?.containerStatuses ?? [];
      return app?.restartCount === 1 && app.state?.running !== undefined;
    });
    assert.equal(pod.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 137);
  });

  await t.test('a pod whose containers have exited with 0 is Succeeded and does not restart', async () => {
    node.writeManifest('job.json', aManifest('job', 'sim/exit:0', { restartPolicy: 'OnFailure' }));
    await node.waitForPod('job', 'has succeeded', ({ status }) => status?.phase === 'Succeeded');
    const { containers } = await node.runtime.control.state();
    assert.equal(containers.filter(({ podName }) => podName === 'job-node-1').length, 1);
  });

  await t.test('a changed manifest replaces its pod only after the old one has ended', async () => {
    node.writeManifest('changed.json', aManifest('changed', 'sim/slowstop:0-after-1s'));
    const old = await node.waitForPod('changed', 'runs', isRunning);
    node.writeManifest('changed.json', aManifest('changed', 'sim/run:2'));
    const replaced = await node.waitForPod('changed', 'is replaced', (pod) => pod.metadata.uid !== old.metadata.uid && isRunning(pod));
    const { containers } = await node.runtime.control.state();
    const before = containers.find(({ podUID }) => podUID === old.metadata.uid);
    const after = containers.find(({ podUID }) => podUID === replaced.metadata.uid);
    assert.ok(after);
    assert.ok(!before || before.finishedAtMs <= after.startedAtMs);
    await gone(node, old.metadata.uid);
  });

  await t.test('a pod whose manifest is removed and written again at once restarts', async () => {
    const manifest = aManifest('rewritten', 'sim/slowstop:0-after-1s');
    node.writeManifest('rewritten.json', manifest);
    const { metadata } = await node.waitForPod('rewritten', 'runs', isRunning);
    const ofThePod = ({ podUID }: { podUID: string }) => podUID === metadata.uid;
    const first = (await node.runtime.control.state()).sandboxes.find(ofThePod);
    await node.runtime.control.resetCounters();
    node.removeManifest('rewritten.json');
    await waitUntil('its container is stopped', async () => (await node.runtime.control.counters())['StopContainer']);
    node.writeManifest('rewritten.json', manifest);
    await waitUntil('it runs in another sandbox', async () => {
      const { sandboxes, containers } = await node.runtime.control.state();
      const next = sandboxes.filter(ofThePod).find(({ id, state }) => id !== first?.id && state === 'ready');
      return next && containers.some(({ sandboxID, state }) => sandboxID === next.id && state === 'running');
    });
    await node.waitForPod('rewritten', 'runs', isRunning);
  });
});

test('a restarted kubelet keeps running pods, and ends pods without a source', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  node.writeManifest('stays.json', aManifest('stays', 'sim/run:1'));
  node.writeManifest('goes.json', aManifest('goes', 'sim/run:1'));
  await node.waitForPod('stays', 'runs', isRunning);
  const goes = await node.waitForPod('goes', 'runs', isRunning);
  await node.stopKubelet();
  assert.ok((await node.runtime.control.state()).containers.every(({ state }) => state === 'running'));
  node.removeManifest('goes.json');
  await node.runtime.control.resetCounters();
  await node.startKubelet();
  await node.waitForPod('stays', 'runs', isRunning);
  await gone(node, goes.metadata.uid);
  const counters = await node.runtime.control.counters();
  assert.equal(counters['RunPodSandbox']?.count ?? 0, 0);
  assert.equal(counters['StartContainer']?.count ?? 0, 0);
  const stays = (await node.runtime.control.state()).containers;
  assert.deepEqual(
    stays.map(({ podName, state, attempt }) => [podName, state, attempt]),
    [['stays-node-1', 'running', 0]],
  );
});

test('the pods keep running while the runtime is unavailable, which gets podCIDR again afterwards', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet({ podCIDR: '10.88.0.0/24' });
  const sentTimes = async () => (await node.runtime.control.counters())['UpdateRuntimeConfig']?.count ?? 0;
  await waitUntil('the runtime has podCIDR', async () => (await sentTimes()) === 1);
  node.writeManifest('web.json', aManifest('web', 'sim/run:1'));
  await node.waitForPod('web', 'runs', isRunning);
  await node.runtime.control.resetCounters();
  await node.runtime.control.closeSocket();
  node.writeManifest('late.json', aManifest('late', 'sim/run:1'));
  await waitUntil('the kubelet logs that the runtime is unavailable', () =>
    node.logs.lines.some(({ msg, level }) => level >= 40 && msg.includes('ync')),
  );
  await node.runtime.control.openSocket();
  await node.waitForPod('late', 'runs', isRunning, 40_000);
  await waitUntil('the runtime has podCIDR again', async () => (await sentTimes()) > 0);
  const { containers } = await node.runtime.control.state();
  assert.deepEqual(
    containers.map(({ podName, attempt }) => `${podName} ${attempt}`).toSorted((a, b) => (a < b ? -1 : 1)),
    ['late-node-1 0', 'web-node-1 0'],
  );
});

test('a kubelet without a runtime logs the reason, serves its ports, and runs its pods once the runtime answers', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.runtime.control.closeSocket();
  node.writeManifest('web.json', aManifest('web', 'sim/run:1'));
  await node.startKubelet();
  await waitUntil('the kubelet logs the reason', () =>
    node.logs.lines.some(({ msg }) => msg.startsWith('Container runtime sanity check failed')),
  );
  assert.deepEqual(await node.pods(), []);
  await node.runtime.control.openSocket();
  await node.waitForPod('web', 'runs', isRunning);
});

test('a kubelet that waits for its runtime stops on a signal', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.runtime.control.fault({ call: 'Version', kind: 'hang' });
  await node.startKubelet();
  await waitUntil('the runtime is asked', async () => (await node.runtime.control.counters())['Version']?.inFlight);
  await node.stopKubelet();
});

test('a kubelet starts its pods after a runtime that answered once and failed before the first relist', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.runtime.control.fault({ call: 'ListPodSandbox', kind: 'fail' });
  node.writeManifest('web.json', aManifest('web', 'sim/run:1'));
  await node.startKubelet();
  await waitUntil('it is asked in vain', async () => (await node.runtime.control.counters())['ListPodSandbox']?.count);
  await node.runtime.control.closeSocket();
  await waitUntil('the kubelet logs the reason', () =>
    node.logs.lines.some(({ msg }) => msg.startsWith('Container runtime sanity check failed')),
  );
  await node.runtime.control.clearFaults();
  await node.runtime.control.openSocket();
  await node.waitForPod('web', 'runs', isRunning);
  assert.equal((await node.runtime.control.state()).sandboxes.length, 1);
});

test('a pod that failed while the runtime was briefly unavailable runs soon after the recovery, before its back-off ends', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  node.writeManifest('first.json', aManifest('first', 'sim/run:1'));
  await node.waitForPod('first', 'runs', isRunning);
  await node.runtime.control.closeSocket();
  node.writeManifest('web.json', aManifest('web', 'sim/run:1'));
  await waitUntil('its sync fails', () => node.logs.lines.some(({ msg }) => msg === 'Error syncing pod, will try again'));
  await waitUntil('the kubelet logs the reason', () =>
    node.logs.lines.some(({ msg }) => msg.startsWith('Container runtime sanity check failed')),
  );
  await node.runtime.control.openSocket();
  const returnedAt = performance.now();
  await node.waitForPod('web', 'runs', isRunning);
  // A failed sync is retried after 10 to 15 s.
  assert.ok(performance.now() - returnedAt < 8000, `${performance.now() - returnedAt} ms`);
});
