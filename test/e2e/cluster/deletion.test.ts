/** Deletion of pods in a cluster: status, grace period, order of cleanup and object deletion, and that nothing remains. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { ContainerState } from '../../../src/shared/cri/generated/cri-v1.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { untilTimeline } from '../../support/kubelet/local-command.ts';

/** Ignores SIGTERM. */
const stubborn = { sh: 'trap "" TERM; while :; do sleep 1; done' };

/** Empty if the folder does not exist, or disappears at this moment. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    return [];
  }
}

describe('a deleted pod', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-deletion');
  });
  after(() => node?.destroy());

  const runningContainers = async ({ metadata }: Pod) => {
    const filter = { labelSelector: { 'io.kubernetes.pod.uid': metadata.uid }, state: { state: ContainerState.CONTAINER_RUNNING } };
    return (await node.node.cri.runtime.call('listContainers', { filter }, { deadlineMs: 10_000 })).containers.length;
  };
  /** Returns the mounts, volumes, cgroups and running containers that the host has of the pod. */
  const remainingOnHost = async (pod: Pod): Promise<string[]> => {
    const { uid } = pod.metadata;
    const found: string[] = [];
    if (readFileSync('/proc/self/mounts', 'utf8').includes(`/pods/${uid}/`)) found.push('mounts');
    // Each volume is in the folder of its plugin; the plugin folders are removed with the pod's folder, a little later.
    const volumes = join(node.node.rootDir, 'pods', uid, 'volumes');
    found.push(...namesIn(volumes).flatMap((plugin) => namesIn(join(volumes, plugin))));
    for (const slice of ['', '/besteffort', '/burstable']) {
      const cgroup = `/sys/fs/cgroup/memory${node.node.cgroupRoot}/kubepods${slice}/pod${uid}`;
      if (existsSync(cgroup)) found.push('cgroup');
    }
    if ((await runningContainers(pod)) > 0) found.push('containers');
    return found;
  };
  const withVolume = (container: Parameters<typeof aBusybox>[0] = {}): Partial<PodSpec> => ({
    containers: [aBusybox({ volumeMounts: [{ name: 'memory', mountPath: '/memory' }], ...container })],
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
  });
  const run = async (name: string, spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}) => {
    await node.create(name, spec, metadata);
    return node.untilRunning(name);
  };

  /** Returns every later version of the pod, and what the host has of the pod when its object is deleted. */
  const untilObjectDeleted = async ({ metadata: { name, resourceVersion, uid } }: Pod): Promise<{ seen: Pod[]; remaining: string[] }> => {
    const seen: Pod[] = [];
    const watching = new AbortController();
    const query = `fieldSelector=metadata.name%3D${name}&resourceVersion=${resourceVersion}`;
    for await (const { type, object } of node.api.watch<Pod>(`${node.podsPath}?${query}`, watching.signal)) {
      seen.push(object);
      if (type !== 'DELETED' || object.metadata.uid !== uid) continue;
      const remaining = await remainingOnHost(object);
      watching.abort();
      return { seen, remaining };
    }
    throw new Error(`the watch of ${name} has ended`);
  };

  describe('while the kubelet runs', { concurrency: 4 }, () => {
    test('runs its preStop hook, becomes terminal, and leaves nothing when its object is deleted', async () => {
      const pod = await run('graceful', {
        ...withVolume({
          lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo stopping > /proc/1/fd/1; sleep 1'] } } },
          sh: 'trap "echo terminated; exit 7" TERM; while :; do sleep 1000 & wait $!; done',
        }),
        terminationGracePeriodSeconds: 30,
      });
      await node.delete('graceful');
      const { seen, remaining } = await untilObjectDeleted(pod);
      assert.deepEqual(remaining, []);
      assert.ok(seen[0]?.metadata.deletionTimestamp);
      assert.equal(seen[0].status?.phase, 'Running');
      const last = seen.at(-1)!;
      const { terminated } = last.status?.containerStatuses?.[0]?.state ?? {};
      assert.deepEqual([last.status?.phase, terminated?.exitCode, conditionOf(last.status, 'Ready')], ['Failed', 7, 'False']);
      const event = await node.untilEvent('graceful', 'Killing', /^Stopping container app$/);
      assert.equal(event.involvedObject.fieldPath, 'spec.containers{app}');
    });

    test('gets two more seconds when its preStop hook uses up the grace period', async () => {
      const pod = await run('hanging-hook', {
        containers: [
          aBusybox({
            lifecycle: { preStop: { exec: { command: ['sleep', 'inf'] } } },
            sh: 'trap "echo terminated > /dev/termination-log" TERM; while :; do sleep 1000 & wait $!; done',
          }),
        ],
        terminationGracePeriodSeconds: 3,
      });
      await node.delete('hanging-hook');
      const { seen } = await untilObjectDeleted(pod);
      const { containerID = '', state } = seen.at(-1)!.status?.containerStatuses?.[0] ?? {};
      // The container got the signal, and did not exit by itself.
      assert.deepEqual([state?.terminated?.message, state?.terminated?.exitCode], ['terminated\n', 137]);
      const stops = readFileSync(node.node.containerd.logFile, 'utf8').match(
        new RegExp(`StopContainer for .{0,4}${containerID.split('//')[1]}.{0,4} with timeout \\d+`, 'g'),
      );
      assert.match(stops?.[0] ?? '', /with timeout 2$/);
      assert.ok(node.node.log().includes('preStop hook did not complete in the grace period'));
    });

    test('is killed at the end of its grace period', async () => {
      await run('stubborn', { containers: [aBusybox(stubborn)], terminationGracePeriodSeconds: 600 });
      const startedMs = performance.now();
      await node.delete('stubborn', { gracePeriodSeconds: 2 });
      const pod = await node.until(
        'stubborn',
        'was killed',
        ({ status }) => status?.containerStatuses?.[0]?.state?.terminated !== undefined,
      );
      assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
      await node.untilGone('stubborn');
      assert.ok(performance.now() - startedMs > 1900);
    });

    test('is killed earlier after a second deletion with a shorter grace period', async () => {
      const pod = await run('shortened', { containers: [aBusybox(stubborn)], terminationGracePeriodSeconds: 600 });
      await node.delete('shortened');
      await node.untilEvent('shortened', 'Killing', /./);
      assert.equal(await runningContainers(pod), 1);
      await node.delete('shortened', { gracePeriodSeconds: 1 });
      await node.untilGone('shortened', 60_000);
      assert.deepEqual(await remainingOnHost(pod), []);
    });

    test('disappears from the API at once and from the node soon when deleted by force', async () => {
      const pod = await run('forced', { ...withVolume(stubborn), terminationGracePeriodSeconds: 600 });
      await node.kubectl('delete', 'pod', 'forced', '--force', '--grace-period=0');
      assert.equal(await node.api.find(`${node.podsPath}/forced`), undefined);
      await waitUntil('nothing of the pod is left', async () => (await remainingOnHost(pod)).length === 0, 60_000);
    });

    test('is independent of a new pod of the same name', async () => {
      const old = await run('again', { ...withVolume(), terminationGracePeriodSeconds: 600 });
      await node.kubectl('delete', 'pod', 'again', '--force', '--grace-period=0');
      const pod = await run('again', withVolume());
      assert.notEqual(pod.metadata.uid, old.metadata.uid);
      await waitUntil('nothing of the old pod is left', async () => (await remainingOnHost(old)).length === 0, 60_000);
      assert.equal(await runningContainers(pod), 1);
    });

    test('disappears even if it never started', async () => {
      const waits = await node.create('waits', {
        containers: [aBusybox({ volumeMounts: [{ name: 'none', mountPath: '/none' }] })],
        volumes: [{ name: 'none', secret: { secretName: 'none-such' } }],
      });
      await node.untilEvent('waits', 'FailedMount', /secret "none-such" not found/);
      await node.delete('waits');
      await node.untilGone('waits', 30_000);
      assert.deepEqual(await remainingOnHost(waits), []);
      await node.create('no-image', { containers: [aBusybox({ image: 'local.example/none:1', imagePullPolicy: 'Never' })] });
      await node.until(
        'no-image',
        'shows ErrImageNeverPull',
        ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull',
      );
      await node.delete('no-image');
      await node.untilGone('no-image', 30_000);
    });

    test('disappears even if deleted during its start', async () => {
      const pod = await node.create('early', { initContainers: [aBusybox({ name: 'first', sh: 'sleep 1000' })], ...withVolume() });
      await node.delete('early', { gracePeriodSeconds: 1 });
      await node.untilGone('early', 60_000);
      await waitUntil('nothing of the pod is left', async () => (await remainingOnHost(pod)).length === 0, 60_000);
    });

    test('disappears at once if it had completed', async () => {
      const pod = await node.create('ended', { restartPolicy: 'Never', ...withVolume({ sh: 'exit 0' }) });
      await node.untilEnded('ended');
      await waitUntil('the pod’s volumes are gone', async () => (await remainingOnHost(pod)).length === 0, 60_000);
      await node.delete('ended');
      await node.untilGone('ended', 30_000);
    });

    test('terminates after an API eviction, with the DisruptionTarget condition', async () => {
      const pod = await run('evicted', { ...withVolume(stubborn), terminationGracePeriodSeconds: 2 });
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', namespace: node.namespace } };
      await node.api.create(`${node.podsPath}/evicted/eviction`, eviction);
      const { status } = await node.until('evicted', 'was killed', ({ status: current }) => current?.phase === 'Failed');
      assert.equal(status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason, 'EvictionByEvictionAPI');
      await node.untilGone('evicted');
      assert.deepEqual(await remainingOnHost(pod), []);
    });

    test('stays with an event while a mount is busy, and disappears when it is free', async () => {
      const pod = await run('busy-mount', withVolume());
      const volume = join(node.node.rootDir, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~empty-dir/memory');
      const openFile = openSync(join(volume, 'open-file'), 'w');
      try {
        await node.delete('busy-mount', { gracePeriodSeconds: 1 });
        const { type } = await node.untilEvent('busy-mount', 'FailedCleanUp', /memory still mounted: EBUSY/);
        assert.equal(type, 'Warning');
        assert.ok(await node.api.find(`${node.podsPath}/busy-mount`));
        assert.ok(existsSync(join(volume, 'open-file')));
      } finally {
        closeSync(openFile);
      }
      await node.untilGone('busy-mount');
    });

    test('disappears with its namespace', async (t) => {
      const namespace = await node.cluster.namespace(t);
      const path = `/api/v1/namespaces/${namespace}/pods`;
      for (const name of ['a', 'b', 'c']) {
        const spec = { nodeName: node.nodeName, terminationGracePeriodSeconds: 1, containers: [aBusybox()] };
        await node.api.create(path, { metadata: { name }, spec });
      }
      await node.cluster.kubectl('-n', namespace, 'wait', '--for=condition=Ready', 'pod', '--all', '--timeout=25s');
      await node.api.delete(`/api/v1/namespaces/${namespace}`);
      await waitUntil('the namespace is gone', async () => (await node.api.find(`/api/v1/namespaces/${namespace}`)) === undefined, 90_000);
    });
  });

  test('is terminated by the next kubelet if deleted while the kubelet was down, also without an object', async () => {
    const deleting = await run('deleted-while-down', withVolume());
    const withoutObject = await run('object-gone', { ...withVolume(), terminationGracePeriodSeconds: 600 });
    const kept = await run('kept', {});
    await node.node.stopKubelet('SIGKILL');
    await node.delete('deleted-while-down');
    await node.delete('object-gone', { gracePeriodSeconds: 0 });
    assert.equal(await runningContainers(deleting), 1);
    await node.node.startKubelet();
    await node.untilGone('deleted-while-down');
    assert.deepEqual(await remainingOnHost(deleting), []);
    await waitUntil('nothing of the pod is left', async () => (await remainingOnHost(withoutObject)).length === 0, 90_000);
    // Its replacement may run already.
    const killing = node.node
      .log()
      .split('\n')
      .filter((line) => line.includes('killing container') && line.includes(withoutObject.metadata.uid));
    assert.match(killing.join('\n'), /graceSeconds=30/);
    assert.equal((await node.get('kept')).status?.containerStatuses?.[0]?.containerID, kept.status?.containerStatuses?.[0]?.containerID);
  });

  test('leaves no volume when deleted while the kubelet was down, before its containers started', async () => {
    const pod = await node.create('partly-mounted', {
      containers: [aBusybox({ volumeMounts: ['memory', 'none'].map((name) => ({ name, mountPath: `/${name}` })) })],
      volumes: [
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'none', secret: { secretName: 'none-such' } },
      ],
    });
    await waitUntil('the pod’s volume is mounted', async () => (await remainingOnHost(pod)).includes('mounts'), 60_000);
    await node.untilEvent('partly-mounted', 'FailedMount', /secret "none-such" not found/);
    await node.node.stopKubelet('SIGKILL');
    await node.delete('partly-mounted');
    assert.ok((await remainingOnHost(pod)).includes('mounts'));
    const deleted = untilObjectDeleted(pod);
    await node.node.startKubelet();
    const { seen, remaining } = await deleted;
    assert.deepEqual([seen.at(-1)?.status?.phase, remaining], ['Failed', []]);
  });

  test('terminates while a finalizer keeps its object', async () => {
    const pod = await run('finalized', withVolume(), { finalizers: ['example.com/keep'] });
    await node.delete('finalized');
    const ended = await node.until(
      'finalized',
      'has succeeded and waits for its finalizer',
      ({ status, metadata }) => status?.phase === 'Succeeded' && metadata.deletionGracePeriodSeconds === 0,
    );
    assert.deepEqual(ended.metadata.finalizers, ['example.com/keep']);
    await waitUntil('nothing of the pod is left', async () => (await remainingOnHost(pod)).length === 0, 60_000);
    const ledger = async (what: string) => {
      const fullName = `${pod.metadata.namespace}/finalized`;
      const { ledger: obstacles } = await untilTimeline(node.node.rootDir, fullName, what, ({ state }) => state === 'Finished');
      return obstacles.map(({ kind, waitsFor }) => `${kind}: ${waitsFor}`);
    };
    assert.deepEqual(await ledger('has finished'), ['api: the API server: finalizers of the pod’s object']);
    // A kubelet that starts meanwhile does not start the pod again.
    await node.restartKubelet();
    await run('after-finalized', {});
    assert.equal(await runningContainers(pod), 0);
    assert.equal((await node.get('finalized')).status?.phase, 'Succeeded');
    assert.deepEqual(
      (await ledger('has finished for the new kubelet')).map((entry) => entry.split(':')[0]),
      ['api'],
    );
    await node.api.patch(`${node.podsPath}/finalized`, { metadata: { finalizers: null } });
    await node.untilGone('finalized');
  });

  test('leaves no folder on the node', async () => {
    const { items } = await node.api.get<{ items: Pod[] }>(node.podsPath);
    const known = new Set(items.map(({ metadata }) => metadata.uid));
    await waitUntil(
      'only pods of the API server have a folder',
      () => readdirSync(join(node.node.rootDir, 'pods')).every((uid) => known.has(uid)),
      60_000,
    );
  });

  test('is deleted with its UID as a precondition', () => {
    const deletions = node.cluster.controlPlane.auditEvents(node.nodeName).filter(({ verb }) => verb === 'delete');
    assert.ok(deletions.length > 5);
    // A refused deletion would be 403 or 409; 404 means that another client removed the pod in between.
    assert.deepEqual(
      deletions.map(({ responseStatus }) => responseStatus?.code).filter((code) => code !== 200 && code !== 404),
      [],
    );
  });
});
