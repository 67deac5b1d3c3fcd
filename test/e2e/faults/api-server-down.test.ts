/** The API server is down while pods run, crash, exit and are deleted: the node continues, and catches up on its return. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { isWatch } from '../../support/api-server/api-server-faults.ts';
import { privateCluster, sharedCluster } from '../../support/cluster/control-plane.ts';
import { loopDelay, loopDelayEnv, resetLoopDelay, startFaultyNode } from '../../support/cluster/faulty-node.ts';
import { containersOf, runningOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning, PodWatch } from '../../support/cluster/pod-watch.ts';
import { untilTimeline } from '../../support/kubelet/local-command.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';

const downMs = 60_000;
const restarts = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
/** A shell command that exits when a file appears, so that the test controls the time. */
const exitOnFile = (code: number) => `while [ ! -e /trigger/exit ]; do sleep 0.2; done; rm /trigger/exit; exit ${code}`;

function uidOnNode(metadata: Pod['metadata']): string {
  return metadata.annotations?.['kubernetes.io/config.mirror'] ?? metadata.uid;
}

describe('without an API server', { concurrency: 2 }, () => {
  test('the API server stops for a minute: healthy pods are untouched, and changes are reported on its return', async (t) => {
    const nodeName = 'api-server-down';
    const cluster = await privateCluster(t);
    const { controlPlane } = cluster;
    const namespace = 'default';
    const member = await cluster.member(t, nodeName);
    const node = await TestNode.start(t, { ...member, env: loopDelayEnv() });
    const pods = await PodWatch.start(t, cluster, namespace);
    const createPod = (name: string, spec: Partial<Pod['spec']> = {}) => pods.create(aManifest(name, { nodeName, ...spec }, { namespace }));
    const triggerVolume = (name: string) => ({
      volumes: [{ name: 'trigger', hostPath: { path: `${node.folder}/trigger-${name}`, type: 'DirectoryOrCreate' } }],
    });
    const exitContainer = (name: string) => writeFileSync(join(node.folder, `trigger-${name}`, 'exit'), '');
    const exitingContainer = (code: number) =>
      aBusybox({ sh: exitOnFile(code), volumeMounts: [{ name: 'trigger', mountPath: '/trigger' }] });
    await node.startKubelet();
    node.apply(aManifest('static'));
    const staticName = `static-${nodeName}`;

    const healthy = ['healthy-0', 'healthy-1', 'healthy-2', 'healthy-3', 'healthy-4', 'healthy-5'];
    for (const name of healthy) await createPod(name);
    await createPod('crashes', { ...triggerVolume('crashes'), containers: [exitingContainer(1)] });
    await createPod('ends', { ...triggerVolume('ends'), containers: [exitingContainer(0)], restartPolicy: 'Never' });
    // The pod takes 20 s to terminate, while the API server is down.
    await createPod('deleted', {
      terminationGracePeriodSeconds: 8,
      containers: [aBusybox({ sh: 'trap "" TERM; while :; do sleep 1; done' })],
    });
    await pods.untilAll('all run', (all) => all.length === healthy.length + 4 && all.every(isRunning));
    const idsBefore = new Map<string, readonly string[]>();
    for (const { metadata } of pods.all()) idsBefore.set(metadata.name, await runningOf(node, uidOnNode(metadata)));
    resetLoopDelay(node);

    await pods.delete('deleted');
    await waitUntil('the kubelet terminates the deleted pod', () => /deleted.*(terminat|kill)/i.test(node.log()), 20_000);
    const stoppedAt = performance.now();
    await controlPlane.stopApiServer(0);
    exitContainer('crashes');
    exitContainer('ends');
    node.apply(aManifest('static-later'));
    const crashesUID = uidOnNode(pods.get('crashes')!.metadata);
    await waitUntil(
      'the crashed container runs again',
      async () => {
        const current = await runningOf(node, crashesUID);
        return current.length === 1 && current[0] !== idsBefore.get('crashes')?.[0];
      },
      40_000,
    );
    await waitUntil(
      'the new static pod runs',
      async () => {
        const all = await containersOf(node);
        return all.some(({ labels }) => labels['io.kubernetes.pod.name'] === `static-later-${nodeName}`);
      },
      40_000,
    );
    await waitUntil(
      'the deleted pod has ended',
      async () => (await runningOf(node, uidOnNode(pods.get('deleted')!.metadata))).length === 0,
      40_000,
    );
    const timeline = await untilTimeline(node.rootDir, `${namespace}/deleted`, 'waits for the API server', ({ ledger }) =>
      ledger.some(({ kind, waitsFor }) => kind === 'api' && waitsFor.startsWith('the API server: the write of the final status')),
    );
    assert.equal(timeline.state, 'Finished');
    assert.equal((await node.healthz()).status, 200);
    // The minute is part of the test.
    await sleep(Math.max(0, downMs - (performance.now() - stoppedAt)));
    const returnedAt = performance.now();
    const auditEventsBefore = controlPlane.auditEvents(nodeName).length;
    await controlPlane.startApiServer();

    await pods.untilGone('deleted');
    await pods.until('ends', 'has succeeded', ({ status }) => status?.phase === 'Succeeded');
    await pods.until('crashes', 'was restarted', (pod) => restarts(pod) === 1 && isRunning(pod));
    await pods.until(`static-later-${nodeName}`, 'has a running mirror pod', isRunning);
    t.diagnostic(`statuses caught up ${Math.round(performance.now() - returnedAt)} ms after the API server was started again`);
    await waitUntil(
      'the node is Ready',
      async () => {
        const path = `/api/v1/nodes/${nodeName}`;
        const found = await cluster.api.find<{ status?: { conditions?: { type: string; status: string }[] } }>(path);
        return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      },
      60_000,
    );
    for (const name of [...healthy, staticName]) {
      const pod = await pods.until(name, 'runs', isRunning);
      assert.equal(restarts(pod), 0);
      assert.deepEqual(await runningOf(node, uidOnNode(pod.metadata)), idsBefore.get(name), `${name} was restarted`);
    }
    assert.deepEqual(
      pods
        .seen('ends')
        .map(({ status }) => status?.phase)
        .filter((phase, i, all) => phase !== all[i - 1]),
      ['Pending', 'Running', 'Succeeded'],
    );
    // Its first responses wake the watches: they resume before the renewed lease is due again.
    const requests = controlPlane
      .auditEvents(nodeName)
      .slice(auditEventsBefore)
      .filter(({ responseStatus }) => responseStatus?.code === 200)
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`);
    const beforeWatch = requests.slice(0, requests.indexOf('watch pods'));
    assert.ok(beforeWatch.filter((request) => request === 'update leases').length < 2, beforeWatch.join());
    t.diagnostic(loopDelay(node));
  });

  test('a partitioned node catches up with deletions, creations and replacements', async (t) => {
    const cluster = await sharedCluster();
    t.after(() => cluster.close());
    const faulty = await startFaultyNode(t, cluster, 'partitioned');
    const { node, pods, proxy } = faulty;
    for (const name of ['stays', 'goes', 'replaced', 'forced']) await faulty.create(name);
    await pods.untilAll('all run', (all) => all.length === 4 && all.every(isRunning));
    const stays = uidOnNode(pods.get('stays')!.metadata);
    const staysID = await runningOf(node, stays);

    const endFault = proxy.fault({ matches: () => true, reset: true });
    proxy.cut(() => true);
    await pods.delete('goes');
    await pods.delete('replaced', { gracePeriodSeconds: 0 });
    await pods.delete('forced', { gracePeriodSeconds: 0 });
    await pods.untilGone('replaced');
    const replaced = await faulty.create('replaced');
    const createdMeanwhile = await faulty.create('created');
    const from = proxy.requests.length;
    await waitUntil('the kubelet has retried at least ten times', () => proxy.requests.length > from + 10, 60_000);
    assert.equal((await runningOf(node)).length, 4);
    endFault();
    await pods.untilGone('goes');
    await pods.untilAll('the remaining and the new pods run', (all) => all.length === 3 && all.every(isRunning));
    await untilOnlyThese(node, [stays, replaced.metadata.uid, createdMeanwhile.metadata.uid]);
    assert.deepEqual(await runningOf(node, stays), staysID);
    for (const name of ['stays', 'replaced', 'created']) await pods.delete(name);
    await pods.untilAll('all are gone', (all) => all.length === 0);
    await untilOnlyThese(node, []);
  });

  test('silent connections are given up', async (t) => {
    const cluster = await sharedCluster();
    t.after(() => cluster.close());
    const faulty = await startFaultyNode(t, cluster, 'silent-connections', {
      config: { nodeLeaseDurationSeconds: 8, nodeStatusUpdateFrequency: '4s' },
    });
    const { pods, proxy } = faulty;
    await faulty.create('before');
    await pods.until('before', 'runs', isRunning);
    // As behind a router that forgot the connections: they stay open, and new ones work.
    proxy.silence(isWatch);
    const endFault = proxy.fault({ matches: (method, path) => !isWatch(method, path), hang: true });
    await pods.delete('before');
    const startedAt = performance.now();
    const from = proxy.requests.length;
    await waitUntil(
      'heartbeats fail',
      () => proxy.requests.slice(from).filter(({ path }) => path.includes('/leases/')).length >= 2,
      60_000,
    );
    endFault();
    await pods.untilGone('before');
    t.diagnostic(`the deletion arrived after ${Math.round(performance.now() - startedAt)} ms`);
  });

  test('a kubelet restarted without an API server keeps its pods, and starts static pods', async (t) => {
    const cluster = await sharedCluster();
    t.after(() => cluster.close());
    const faulty = await startFaultyNode(t, cluster, 'alone');
    const { node, pods, proxy } = faulty;
    const staticName = `static-${faulty.nodeName}`;
    node.apply(aManifest('static', {}, { namespace: faulty.namespace }));
    for (const name of ['stays', 'goes']) await faulty.create(name);
    const trigger = join(node.folder, 'trigger');
    const ends = await faulty.create('ends', {
      volumes: [{ name: 'trigger', hostPath: { path: trigger, type: 'DirectoryOrCreate' } }],
      containers: [aBusybox({ sh: `echo begun; ${exitOnFile(7)}`, volumeMounts: [{ name: 'trigger', mountPath: '/trigger' }] })],
      restartPolicy: 'Never',
    });
    await pods.untilAll('all run', (all) => all.length === 4 && all.every(isRunning));
    const ids = (await runningOf(node)).toSorted();
    const [endedID] = await runningOf(node, ends.metadata.uid);

    const endFault = proxy.fault({ matches: () => true, reset: true });
    proxy.cut(() => true);
    await node.stopKubelet('SIGKILL');
    await pods.delete('goes');
    await node.startKubelet();
    node.apply(aManifest('static-later', {}, { namespace: faulty.namespace }));
    await waitUntil('the new static pod runs', async () => (await runningOf(node)).length === ids.length + 1, 60_000);
    writeFileSync(join(trigger, 'exit'), '');
    await waitUntil('the container has ended', async () => (await runningOf(node, ends.metadata.uid)).length === 0, 60_000);
    // The kubelet has processed everything it knows, and no source reports that an API pod is gone.
    const from = proxy.requests.length;
    await waitUntil('the kubelet has retried at least ten times', () => proxy.requests.length > from + 10, 60_000);
    const running = new Set(await runningOf(node));
    assert.deepEqual(
      ids.filter((id) => !running.has(id) && id !== endedID),
      [],
    );
    endFault();
    const failed = await pods.until('ends', 'has failed', ({ status }) => status?.phase === 'Failed', 120_000);
    const [app] = failed.status?.containerStatuses ?? [];
    // The container that ended unseen was neither removed nor started again, and its log stays.
    assert.deepEqual([app?.containerID?.split('//')[1], app?.state?.terminated?.exitCode, app?.restartCount], [endedID, 7, 0]);
    const log = join(node.podLogs, `${faulty.namespace}_ends_${ends.metadata.uid}`, 'app/0.log');
    assert.match(readFileSync(log, 'utf8'), /begun\n$/);
    await pods.delete('ends');
    await pods.untilGone('goes', 120_000);
    await pods.until(`static-later-${faulty.nodeName}`, 'has a running mirror pod', isRunning);
    for (const name of ['stays', staticName]) {
      const pod = await pods.until(name, 'runs', isRunning);
      assert.equal(restarts(pod), 0);
      const [id = ''] = await runningOf(node, uidOnNode(pod.metadata));
      assert.ok(ids.includes(id), `${name} was restarted`);
    }
    node.delete('static');
    node.delete('static-later');
    await pods.delete('stays');
    await pods.untilAll('all are gone', (all) => all.length === 0);
    await untilOnlyThese(node, []);
  });
});
