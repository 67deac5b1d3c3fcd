/** In-place resize: the resources of running pods change, without a restart unless their policy asks for one. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { conditionOf, TestClusterNode } from '../../support/cluster/cluster-node.ts';
import {
  burstableSteps,
  growsAndShrinks,
  guaranteedSteps,
  podLevelResized,
  resizesPodLevel,
  restartsByPolicy,
  waitsForLessUsage,
} from '../../support/cluster/resize-scenarios.ts';
import { appOf, condition, guaranteed, hasNoResize, mebibyte, Resizes, withResources } from '../../support/cluster/resizes.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const small = { requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '64Mi' } };

/** Writes the container's ID of each update into the file `updates`, and waits while `held-updates` has it. */
const runcScript = `#!/bin/sh
folder=$(dirname "$0")
case " $* " in *" update "*)
  for id; do :; done
  echo "$id" >> "$folder/updates"
  while grep -qsx "$id" "$folder/held-updates"; do sleep 0.1; done;;
esac
exec runc "$@"
`;
const heldMs = 8000;

describe('in-place resize', () => {
  let node: TestClusterNode;
  let resizes: Resizes;
  before(async () => {
    node = await TestClusterNode.start('cluster-resize', { runcScript });
    resizes = new Resizes(node);
  });
  after(() => node?.destroy());

  /** How often the runtime was asked to update the container. */
  const updates = (pod: Pod) => {
    const id = appOf(pod)!.containerID!.split('//')[1];
    const all = readFileSync(join(node.node.folder, 'updates'), 'utf8').split('\n');
    return all.filter((one) => one === id).length;
  };

  test('a pod reports the resources of its containers and its own', async () => {
    await node.create('shown', withResources(small));
    const { status } = await node.untilRunning('shown');
    const [app] = status?.containerStatuses ?? [];
    assert.deepEqual([app?.resources, app?.allocatedResources], [small, small.requests]);
    assert.deepEqual([status?.resources, status?.allocatedResources], [small, small.requests]);
    await node.create('none', withResources({}));
    const none = await node.untilRunning('none');
    assert.deepEqual([appOf(none)?.resources, appOf(none)?.allocatedResources, none.status?.resources], [{}, undefined, {}]);
  });

  test('CPU and memory grow and shrink in the running container', () => growsAndShrinks(node, 'resized', guaranteedSteps));
  test('requests and limits of a Burstable pod grow and shrink', () => growsAndShrinks(node, 'burstable', burstableSteps));

  test('a container restarts once if its policy says so, with the new values', () => restartsByPolicy(node, 'restarts'));

  test('a memory limit below the usage is refused without harm, and set when the memory is free', () => waitsForLessUsage(node, 'full'));

  test('more memory ends the loop of a container that runs out of it', async () => {
    // The lowest limit of the container and its pod: the pod has more memory before its container starts.
    const limit =
      'cat /sys/fs/cgroup/memory.max 2>/dev/null || sed -n "s/^hierarchical_memory_limit //p" /sys/fs/cgroup/memory/memory.stat';
    const sh = `[ $(${limit}) -gt 100000000 ] && exec sleep 1000; head -c 104857600 /dev/zero | tail -n1 >/dev/null || exit 137`;
    await node.create('oom', withResources(guaranteed('100m', '64Mi'), { sh }));
    const crashed = await node.until('oom', 'is in a crash loop', (pod) => appOf(pod)?.state?.waiting?.reason === 'CrashLoopBackOff');
    await resizes.of('oom', guaranteed('100m', '256Mi'));
    const resized = await resizes.until('oom', ({ resources }) => resources?.limits?.['memory'] === '256Mi');
    assert.equal(appOf(resized)?.restartCount, appOf(crashed)!.restartCount + 1);
    assert.equal((await resizes.values('oom'))[2], String(256 * mebibyte));
    assert.equal(resizes.podValues(resized)[2], String(256 * mebibyte));
  });

  test('a container that has just started gets less memory without an error', async () => {
    const limited = (memory: string) => ({ limits: { memory }, requests: { memory: '32Mi' } });
    await node.create('young', withResources(limited('256Mi')));
    await node.until('young', 'runs', ({ status }) => status?.phase === 'Running');
    await resizes.of('young', limited('128Mi'));
    const resized = await resizes.until('young', ({ resources }) => resources?.limits?.['memory'] === '128Mi');
    assert.equal(appOf(resized)?.restartCount, 0);
    assert.equal((await resizes.values('young'))[2], String(128 * mebibyte));
    await resizes.untilEvents('young', 'ResizeStarted', 'ResizeCompleted');
  });

  test('an update that the runtime does not answer costs its pod only', async () => {
    const held = join(node.node.folder, 'held-updates');
    const livenessProbe = { exec: { command: ['sh', '-c', 'echo >> /tmp/probes'] }, periodSeconds: 2, timeoutSeconds: 30 };
    const probes = async () => Number(await node.exec('probed', 'cat /tmp/probes 2>/dev/null | wc -l'));
    await node.create('held', withResources(guaranteed('100m', '64Mi')));
    await node.create('probed', { containers: [aBusybox({ livenessProbe })] });
    await node.create('leaving');
    const pod = await node.untilRunning('held');
    for (const name of ['probed', 'leaving']) await node.untilRunning(name);
    writeFileSync(held, appOf(pod)!.containerID!.split('//')[1]!);
    const next = ['next-0', 'next-1', 'next-2'];
    try {
      await resizes.of('held', guaranteed('200m', '64Mi'));
      await waitUntil('the runtime updates the container', () => updates(pod) > 0);
      await Promise.all(next.map((name) => node.create(name)));
      await node.delete('leaving', { gracePeriodSeconds: 1 });
      const probed = await probes();
      const inProgress = await node.until('held', 'is in progress', (pod) => condition(pod, 'PodResizeInProgress') !== undefined);
      assert.deepEqual(appOf(inProgress)?.resources, guaranteed('100m', '64Mi'));
      for (const untilMs = Date.now() + heldMs; Date.now() < untilMs; await sleep(1000)) {
        const { status } = await node.api.get<Pod>(node.nodePath);
        assert.equal(conditionOf(status, 'Ready'), 'True');
      }
      await waitUntil('the probes go on', async () => (await probes()) >= probed + 2);
      assert.equal(updates(pod), 1);
    } finally {
      rmSync(held);
    }
    const releasedAtMs = Date.now();
    await Promise.all([...next.map((name) => node.untilRunning(name)), node.untilGone('leaving')]);
    const resized = await resizes.until('held', ({ resources }) => resources?.limits?.['cpu'] === '200m');
    assert.ok(Date.now() - releasedAtMs < 30_000, `it took ${Date.now() - releasedAtMs} ms`);
    assert.deepEqual([updates(pod), appOf(resized)?.restartCount], [1, 0]);
    assert.equal(appOf(await node.get('probed'))?.restartCount, 0);
    assert.ok((await node.events('probed')).every(({ reason }) => reason !== 'Unhealthy'));
  });

  test('only a memory request changes; and values below the kernel’s minimum are reported as they were asked for', async () => {
    await node.create('request', withResources({ requests: { cpu: '20m', memory: '32Mi' }, limits: { cpu: '40m', memory: '64Mi' } }));
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    await node.create('request-restarts', withResources(small, policy));
    await Promise.all(['request', 'request-restarts'].map((name) => node.untilRunning(name)));
    await resizes.of('request-restarts', { requests: { memory: '48Mi' } });
    await resizes.of('request', { requests: { memory: '48Mi' } });
    const requested = await resizes.until('request', ({ resources }) => resources?.requests?.['memory'] === '48Mi');
    assert.deepEqual([appOf(requested)?.restartCount, updates(requested)], [0, 1]);
    await resizes.until('request-restarts', ({ restartCount }) => restartCount === 1);
    const { status: nodeStatus } = await node.api.get<{ status: { capacity: { memory: string } } }>(node.nodePath);
    const score = 1000 - Math.floor((1000 * 48 * mebibyte) / (Number.parseInt(nodeStatus.capacity.memory, 10) * 1024));
    assert.equal(await node.exec('request-restarts', 'cat /proc/1/oom_score_adj'), `${Math.min(999, Math.max(3, score))}\n`);
    await resizes.of('request', { requests: { cpu: '1m' }, limits: { cpu: '5m' } });
    const tiny = await resizes.until('request', ({ resources }) => resources?.limits?.['cpu'] === '5m');
    assert.deepEqual([appOf(tiny)?.resources?.requests?.['cpu'], (await resizes.values('request')).slice(0, 2)], ['1m', ['2', '1000']]);
    await resizes.untilEvents('request', 'ResizeCompleted', 'ResizeCompleted', 'ResizeStarted', 'ResizeStarted');
    await node.restartKubelet('SIGKILL');
    await node.untilReady();
    const restarted = await node.get('request');
    assert.deepEqual([hasNoResize(restarted), updates(restarted)], [true, 2]);
    await resizes.untilEvents('request', 'ResizeCompleted', 'ResizeCompleted', 'ResizeStarted', 'ResizeStarted');
  });

  test('the pod’s own resources are resized, and shown as its cgroup has them', async () => {
    const resized = await resizesPodLevel(node, 'pod-level');
    // Somebody else lowers it: the next sync notices.
    const [, , memoryFile = ''] = resizes.podFiles(resized);
    for (const mebibytes of [96, 128]) {
      writeFileSync(memoryFile, String(mebibytes * mebibyte));
      await node.kubectl('label', 'pod', 'pod-level', `memory=${mebibytes}`, '--overwrite');
      const limits = { cpu: '200m', memory: `${mebibytes}Mi` };
      const isShown = ({ status }: Pod) => isDeepStrictEqual(status?.resources, { ...podLevelResized, limits });
      await node.until('pod-level', `shows the ${mebibytes} MiB of its cgroup`, isShown);
    }
  });

  test('records of resources survive restarts unchanged, and broken ones are rebuilt without a restart of a container', async () => {
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    const specs: Readonly<Record<string, Partial<PodSpec>>> = {
      'cpu-only': withResources({ requests: { cpu: '20m' } }),
      'memory-only': withResources({ requests: { memory: '32Mi' } }, policy),
      nothing: withResources({}),
      sidecar: {
        ...withResources(small, policy),
        initContainers: [{ ...aBusybox({ resources: small }), name: 'sidecar', restartPolicy: 'Always' }],
      },
    };
    const names = Object.keys(specs);
    await Promise.all(names.map((name) => node.create(name, specs[name])));
    const pods = await Promise.all(names.map((name) => node.untilRunning(name)));
    const uids = pods.map(({ metadata }) => metadata.uid);
    const files = ['allocated_pods_state', 'actuated_pods_state'].map((name) => join(node.node.rootDir, name));
    const records = () =>
      files.map((path) => {
        if (!existsSync(path)) return [undefined];
        const { data } = JSON.parse(readFileSync(path, 'utf8')) as { data: string };
        const { entries } = JSON.parse(data) as { entries: Readonly<Record<string, unknown>> };
        return uids.map((uid) => entries[uid]);
      });
    const identities = async () =>
      Promise.all(
        names.map(async (name) => {
          const pod = await node.get(name);
          assert.ok(hasNoResize(pod), name);
          assert.deepEqual(await resizes.events(name), []);
          const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
          return statuses.map(({ containerID, restartCount }) => [containerID, restartCount]);
        }),
      );
    const restart = async () => {
      await node.restartKubelet('SIGKILL');
      await node.untilReady();
    };
    const summaryOf = async (name: string) => (await node.get(name)).status?.resources;
    const summaries = { resized: guaranteed('50m', '32Mi'), 'pod-level': podLevelResized };
    await waitUntil('the records are written', () =>
      records()
        .flat()
        .every((record) => record !== undefined),
    );
    const [before, containers] = [records(), await identities()];
    assert.ok(!JSON.stringify(before).includes('"0"'));
    for (let round = 0; round < 3; round += 1) {
      await restart();
      assert.deepEqual([records(), await identities()], [before, containers]);
    }
    for (const [name, summary] of Object.entries(summaries)) assert.deepEqual(await summaryOf(name), summary, name);
    await resizes.untilEvents('pod-level', 'ResizeStarted', 'ResizeCompleted');
    await node.node.stopKubelet('SIGKILL');
    for (const path of files) writeFileSync(path, '{"data":"{}","checksum":1}');
    await node.node.startKubelet();
    await node.untilReady();
    await waitUntil('the records are written again', () => {
      const isSetAside = files.every((path) => existsSync(`${path}.broken`));
      return isSetAside && isDeepStrictEqual(records(), before);
    });
    assert.deepEqual(await identities(), containers);
  });
});
