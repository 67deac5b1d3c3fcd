/** Pods with init containers and sidecars in a cluster: their end, their restarts, and restarts of the kubelet. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Container, ContainerStatus, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { aBusybox, aManifest, busybox } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-sidecars';
/** Another name of the same image. */
const otherTag = busybox.replace(':1', ':2');

/** Exits with `code` on SIGTERM. */
const endsWith = (code: number) => `trap "exit ${code}" TERM; while :; do sleep 1000 & wait $!; done`;
const ignoresTerm = 'trap "" TERM; while :; do sleep 1; done';
const aSidecar = (fields: Parameters<typeof aBusybox>[0] = {}): Container => ({
  ...aBusybox({ name: 'side', ...fields }),
  restartPolicy: 'Always',
});

describe('a pod with sidecars', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
    node.node.containerd.ctr('images', 'tag', busybox, otherTag);
  });
  after(() => node?.destroy());

  const all = ({ status }: Pod) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const find = (pod: Pod, name: string) => all(pod).find((status) => status.name === name);
  const exitCode = (status: ContainerStatus | undefined) => status?.state?.terminated?.exitCode;
  const counts = (pod: Pod) => all(pod).map(({ name, restartCount }) => `${name} ${restartCount}`);
  const isRunning = (pod: Pod) => pod.status?.phase === 'Running' && pod.status.containerStatuses?.every(({ ready }) => ready) === true;

  test('ends by its regular containers, whatever its sidecars do', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    const neverEnds = { preStop: { exec: { command: ['sleep', '1000'] } } };
    const cases: Record<string, { spec: Partial<PodSpec>; phase: string }> = {
      'side-fails': { spec: { initContainers: [aSidecar({ sh: endsWith(3) })] }, phase: 'Succeeded' },
      'side-stubborn': { spec: { initContainers: [aSidecar({ sh: ignoresTerm })] }, phase: 'Succeeded' },
      'side-prestop': { spec: { initContainers: [aSidecar({ lifecycle: neverEnds })] }, phase: 'Succeeded' },
      'app-stubborn': { spec: { initContainers: [aSidecar()], containers: [aBusybox({ sh: ignoresTerm })] }, phase: 'Failed' },
    };
    for (const [name, { spec }] of Object.entries(cases))
      await pods.create(aManifest(name, { nodeName, terminationGracePeriodSeconds: 4, ...spec }));
    for (const name of Object.keys(cases)) await pods.until(name, 'runs', isRunning);
    for (const name of Object.keys(cases)) await pods.delete(name);
    for (const [name, { phase }] of Object.entries(cases)) {
      await pods.untilGone(name);
      assert.equal(pods.seen(name).at(-1)?.status?.phase, phase, name);
    }
    assert.equal(exitCode(find(pods.seen('side-fails').at(-1)!, 'side')), 3);
    assert.equal(exitCode(find(pods.seen('side-stubborn').at(-1)!, 'side')), 137);
  });

  test('can be deleted while it initializes, with a sidecar that never starts up', async (t) => {
    const pods = await PodWatch.start(t, node.cluster, node.namespace);
    const startupProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1000 };
    const initContainers = [aSidecar({ name: 'side1' }), aSidecar({ name: 'side2', startupProbe }), aSidecar({ name: 'side3' })];
    await pods.create(aManifest('unstarted', { nodeName, terminationGracePeriodSeconds: 3, initContainers }));
    const pod = await pods.until(
      'unstarted',
      'waits for its second sidecar',
      (current) => find(current, 'side2')?.state?.running !== undefined,
    );
    assert.deepEqual([find(pod, 'side2')?.started, find(pod, 'side3')?.state?.waiting?.reason], [false, 'PodInitializing']);
    assert.equal(pod.status?.phase, 'Pending');
    await pods.delete('unstarted');
    await pods.untilGone('unstarted');
  });

  test('replaces a sidecar whose image changes, and no other container', async () => {
    await node.create('changed', { initContainers: [aBusybox({ name: 'first', sh: 'true' }), aSidecar({ sh: endsWith(0) })] });
    const before = await node.untilRunning('changed');
    await node.kubectl('set', 'image', 'pod/changed', `side=${otherTag}`);
    const changed = await node.until(
      'changed',
      'runs its new sidecar',
      (pod) => find(pod, 'side')?.restartCount === 1 && find(pod, 'side')?.ready === true,
    );
    assert.deepEqual(counts(changed), ['first 0', 'side 1', 'app 0']);
    assert.equal(find(changed, 'app')?.containerID, find(before, 'app')?.containerID);
  });

  test('does not initialize again when the kubelet restarts, even if the runtime has lost its init containers', async () => {
    const volumeMounts = [{ name: 'state', mountPath: '/state' }];
    await node.create('initialized', {
      initContainers: [aBusybox({ name: 'first', sh: 'echo ran >> /state/log', volumeMounts }), aSidecar()],
      containers: [aBusybox({ volumeMounts })],
      volumes: [{ name: 'state', emptyDir: {} }],
    });
    const before = await node.untilRunning('initialized');
    const containerId = find(before, 'first')?.containerID?.slice('containerd://'.length) ?? '';
    await node.node.stopKubelet('SIGKILL');
    await node.node.cri.runtime.call('removeContainer', { containerId }, { deadlineMs: 10_000 });
    await node.node.startKubelet();
    await node.untilReady();
    // A later container shows that the restarted kubelet has synced the pod.
    await node.kubectl('debug', 'initialized', '-c', 'later', `--image=${busybox}`, '--', 'true');
    const restarted = await node.until(
      'initialized',
      'was synced',
      ({ status }) => status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
    );
    assert.equal(await node.exec('initialized', 'cat /state/log'), 'ran\n');
    assert.deepEqual(counts(restarted), ['first 0', 'side 0', 'app 0']);
    assert.equal(find(restarted, 'first')?.state?.terminated?.reason, 'Completed');
    assert.equal(isRunning(restarted), true);
  });

  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
  const volumeMounts = [{ name: 'state', mountPath: '/state' }];
  const volumes = [{ name: 'state', emptyDir: {} }];
  const once = (then: string) => `test -e /state/tried && { ${then}; }; touch /state/tried; exit 42`;
  const restartsAll = { volumeMounts, restartPolicyRules, restartPolicy: 'Never' };

  test('restarts all containers on the exit of a sidecar, of an init container, or of several regular containers', async () => {
    const idle = aBusybox({ sh: endsWith(0) });
    await node.create('by-sidecar', {
      restartPolicy: 'Never',
      volumes,
      initContainers: [
        aBusybox({ name: 'first', sh: 'true' }),
        { ...aBusybox({ ...restartsAll, name: 'side', sh: once(endsWith(0)) }), restartPolicy: 'Always' },
      ],
      containers: [idle],
    });
    await node.create('by-init', {
      restartPolicy: 'Never',
      volumes,
      initContainers: [aSidecar(), aBusybox({ ...restartsAll, name: 'first', sh: once('exit 0') })],
      containers: [idle],
    });
    await node.create('by-both', {
      restartPolicy: 'Never',
      volumes,
      containers: [
        aBusybox({ ...restartsAll, sh: once(endsWith(0)) }),
        { ...aBusybox({ ...restartsAll, name: 'other', sh: endsWith(42) }) },
      ],
    });
    const restarted = async (name: string, containers: readonly string[]) => {
      const pod = await node.until(
        name,
        'has restarted all',
        (current) => isRunning(current) && containers.every((one) => (find(current, one)?.restartCount ?? 0) > 0),
      );
      assert.equal(pod.status?.conditions?.find(({ type }) => type === 'AllContainersRestarting')?.status, 'False', name);
      return counts(pod);
    };
    assert.deepEqual(await restarted('by-init', ['side', 'first']), ['side 1', 'first 1', 'app 0']);
    assert.deepEqual(await restarted('by-both', ['app', 'other']), ['app 1', 'other 1']);
    await restarted('by-sidecar', ['first', 'side']);
  });

  test('continues to restart all containers when the kubelet restarts meanwhile', async () => {
    await node.create('interrupted', {
      restartPolicy: 'Never',
      volumes,
      initContainers: [aBusybox({ name: 'first', sh: 'sleep 2' })],
      containers: [aBusybox({ ...restartsAll, sh: once(endsWith(0)) }), aBusybox({ name: 'other' })],
    });
    await node.until(
      'interrupted',
      'restarts',
      (pod) => (find(pod, 'app')?.restartCount ?? 0) > 0 || find(pod, 'app')?.state?.terminated?.exitCode === 42,
    );
    await node.restartKubelet('SIGKILL');
    const pod = await node.until(
      'interrupted',
      'has restarted all',
      (current) => isRunning(current) && ['app', 'other', 'first'].every((name) => (find(current, name)?.restartCount ?? 0) > 0),
    );
    // The restarted kubelet may restart them once more: the API server may not have been told yet that the restart was complete.
    assert.ok(
      all(pod).every(({ restartCount }) => restartCount <= 2),
      counts(pod).join(),
    );
  });
});
