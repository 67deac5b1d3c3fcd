/** Mirror pods: they follow the manifests, whatever other clients do to them, and never affect the static pods. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ContainerState } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { appOf, condition, guaranteed, pendingReason, Resizes } from '../../support/cluster/resizes.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';

const isV1 = existsSync('/sys/fs/cgroup/memory');

describe('a static pod in a cluster', () => {
  let node: TestClusterNode;
  before(async () => {
    const featureGates = { InPlacePodVerticalScalingMemoryBackedVolumes: true };
    node = await TestClusterNode.start('cluster-static', { config: { featureGates } });
  });
  after(() => node?.destroy());

  const mirrorName = (name: string) => `${name}-cluster-static`;
  /** Writes a manifest in the test's namespace. */
  const apply = (name: string, spec: Partial<Pod['spec']> = {}) => node.node.apply(aManifest(name, spec, { namespace: node.namespace }));
  const containerID = (pod: Pod) => pod.status?.containerStatuses?.[0]?.containerID;

  describe('while the kubelet runs', { concurrency: 4 }, () => {
    test('has a mirror pod owned by the Node, with status, logs and events', async () => {
      apply('web', { containers: [aBusybox({ sh: 'echo from the static pod; sleep 1000' })] });
      const mirror = await node.untilRunning(mirrorName('web'));
      const { annotations, ownerReferences } = mirror.metadata;
      const { metadata } = await node.api.get<{ metadata: { uid: string } }>(node.nodePath);
      assert.deepEqual(ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: node.nodeName, uid: metadata.uid, controller: true }]);
      assert.equal(annotations?.['kubernetes.io/config.source'], 'file');
      assert.equal(annotations?.['kubernetes.io/config.mirror'], annotations?.['kubernetes.io/config.hash']);
      assert.equal(conditionOf(mirror.status, 'Ready'), 'True');
      assert.deepEqual(mirror.spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
      assert.equal(await node.kubectl('logs', mirrorName('web')), 'from the static pod\n');
      assert.match(await node.kubectl('get', 'pods'), /web-cluster-static\s+1\/1\s+Running/);
      assert.equal(await node.exec(mirrorName('web'), 'echo inside'), 'inside\n');
    });

    test('gets a new mirror pod when it is deleted, and keeps running', async () => {
      apply('deleted');
      const first = await node.untilRunning(mirrorName('deleted'));
      await node.delete(mirrorName('deleted'));
      const second = await node.until(
        mirrorName('deleted'),
        'was recreated and is ready',
        ({ metadata, status }) => metadata.uid !== first.metadata.uid && conditionOf(status, 'Ready') === 'True',
      );
      assert.equal(containerID(second), containerID(first));
      await node.kubectl('delete', 'pod', mirrorName('deleted'), '--force', '--grace-period=0');
      const third = await node.until(
        mirrorName('deleted'),
        'was recreated and is ready',
        ({ metadata, status }) => metadata.uid !== second.metadata.uid && conditionOf(status, 'Ready') === 'True',
      );
      assert.equal(containerID(third), containerID(first));
    });

    test('gets a new mirror pod when its manifest changes', async () => {
      apply('changed');
      const first = await node.untilRunning(mirrorName('changed'));
      apply('changed', { containers: [aBusybox({ env: [{ name: 'VERSION', value: '2' }] })] });
      const second = await node.until(
        mirrorName('changed'),
        'has the new spec and is ready',
        ({ spec, status }) => spec.containers[0]?.env?.[0]?.value === '2' && conditionOf(status, 'Ready') === 'True',
      );
      assert.notEqual(second.metadata.uid, first.metadata.uid);
      assert.notEqual(
        second.metadata.annotations?.['kubernetes.io/config.hash'],
        first.metadata.annotations?.['kubernetes.io/config.hash'],
      );
      assert.notEqual(containerID(second), containerID(first));
      assert.equal(await node.exec(mirrorName('changed'), 'echo $VERSION'), '2\n');
    });

    /** Exits some seconds after SIGTERM. */
    const slowToTerminate = (version: string) =>
      aBusybox({ sh: "trap 'sleep 4; exit 0' TERM; sleep 1000 & wait", env: [{ name: 'VERSION', value: version }] });

    test('keeps its mirror pod until it has terminated when its manifest changes', async (t) => {
      apply('slow', { terminationGracePeriodSeconds: 30, containers: [slowToTerminate('1')] });
      const first = await node.untilRunning(mirrorName('slow'));
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      const changedAtMs = Date.now();
      for (const version of ['2', '3', '4']) apply('slow', { terminationGracePeriodSeconds: 30, containers: [slowToTerminate(version)] });
      const second = await node.until(
        mirrorName('slow'),
        'has the last spec and is ready',
        ({ spec, status }) => spec.containers[0]?.env?.[0]?.value === '4' && conditionOf(status, 'Ready') === 'True',
      );
      const uids = [...new Set(pods.seen(mirrorName('slow')).map(({ metadata }) => metadata.uid))];
      assert.deepEqual(uids, [first.metadata.uid, second.metadata.uid]);
      // The old pod takes four seconds to terminate; the API server's times are whole seconds.
      assert.ok(Date.parse(second.metadata.creationTimestamp ?? '') > changedAtMs + 3000);
    });

    test('terminates and starts again under the same mirror pod when its manifest is rewritten at once', async () => {
      apply('again');
      const first = await node.untilRunning(mirrorName('again'));
      node.node.delete('again');
      apply('again');
      const second = await node.until(
        mirrorName('again'),
        'has restarted and is ready',
        ({ status }) => conditionOf(status, 'Ready') === 'True' && status?.containerStatuses?.[0]?.restartCount === 1,
      );
      assert.equal(second.metadata.uid, first.metadata.uid);
      assert.notEqual(containerID(second), containerID(first));
    });

    test('runs on while its manifest is broken, with an event for each content, and ends when the manifest stays empty', async () => {
      const manifest = join(node.node.manifests, 'kept.yaml');
      const kept = async () =>
        (await node.events(mirrorName('kept'))).filter(({ message }) => message.includes('is not valid, the pod is kept as it was'));
      const isKept = (count: number) => waitUntil(`${count} contents have an event`, async () => (await kept()).length === count, 30_000);
      apply('kept');
      const first = await node.untilRunning(mirrorName('kept'));
      writeFileSync(manifest, 'kind: [');
      await isKept(1);
      writeFileSync(manifest, 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: kept\n  namespace: default\nspec:\n  containers: []\n');
      await isKept(2);
      const messages = (await kept()).map(({ message }) => message);
      assert.ok(
        messages.every((message) => message.startsWith(`Manifest ${manifest} is not valid`)),
        messages.join(),
      );
      assert.ok(
        messages.some((message) => message.includes('spec.containers: Required value')),
        messages.join(),
      );
      assert.match(await node.kubectl('describe', 'pod', mirrorName('kept')), /Warning +FailedValidation .*the pod is kept as it was/);
      const pod = await node.get(mirrorName('kept'));
      assert.deepEqual([containerID(pod), conditionOf(pod.status, 'Ready')], [containerID(first), 'True']);
      writeFileSync(manifest, '# nothing\n');
      await node.untilGone(mirrorName('kept'));
      node.node.delete('kept');
    });

    test('loses its mirror pod when its manifest is removed', async () => {
      apply('removed');
      await node.untilRunning(mirrorName('removed'));
      node.node.delete('removed');
      await node.untilGone(mirrorName('removed'));
    });

    test('runs without its namespace, and is mirrored when the namespace exists', async (t) => {
      const name = 'test-static-created-late';
      node.node.apply(aManifest('early', {}, { namespace: name }));
      await waitUntil(
        'the container of the static pod runs',
        async () => {
          const { containers } = await node.node.cri.runtime.call('listContainers', {}, { deadlineMs: 10_000 });
          return containers.some(({ labels }) => labels['io.kubernetes.pod.namespace'] === name);
        },
        60_000,
      );
      t.after(() => node.api.delete(`/api/v1/namespaces/${name}`));
      await node.api.create('/api/v1/namespaces', { metadata: { name } });
      const path = `/api/v1/namespaces/${name}/pods/${mirrorName('early')}`;
      await waitUntil(
        'the mirror pod is ready',
        async () => conditionOf((await node.api.find<Pod>(path))?.status, 'Ready') === 'True',
        60_000,
      );
      node.node.delete('early');
      await waitUntil('the mirror pod is gone', async () => (await node.api.find(path)) === undefined, 60_000);
    });

    test('must not reference API objects', async () => {
      apply('greedy', {
        containers: [aBusybox({ volumeMounts: [{ name: 'secret', mountPath: '/secret' }] })],
        volumes: [{ name: 'secret', secret: { secretName: 'any' } }],
      });
      await waitUntil('the log names the refused manifest', () => /greedy.*static pods may not reference/i.test(node.node.log()), 30_000);
      assert.equal(await node.api.find(`${node.podsPath}/${mirrorName('greedy')}`), undefined);
      node.node.delete('greedy');
    });
  });

  describe('with a UID in its manifest', () => {
    const name = mirrorName('resized');
    const volumeMounts = [{ name: 'memory', mountPath: '/m' }];
    const applyWith = (cpu: string, sizeLimit: string) => {
      const containers = [aBusybox({ resources: guaranteed(cpu, '32Mi'), volumeMounts })];
      const volumes = [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit } }];
      const metadata = { namespace: node.namespace, uid: `resized-${node.namespace}` };
      node.node.apply(aManifest('resized', { containers, volumes }, metadata));
    };

    test('is resized by its manifest, and not through its mirror pod', async () => {
      const resizes = new Resizes(node);
      applyWith('50m', '8Mi');
      const created = await node.untilRunning(name);
      await assert.rejects(resizes.of(name, guaranteed('100m', '32Mi')), /static pods cannot be resized/);
      applyWith('100m', '8Mi');
      const resized = await resizes.until(name, ({ resources }) => resources?.limits?.['cpu'] === '100m');
      assert.deepEqual([containerID(resized), appOf(resized)?.restartCount], [containerID(created), 0]);
      await node.create('beside');
      await node.untilRunning('beside');
      // A static pod is critical, but no end of other pods makes room for this.
      applyWith('1000', '8Mi');
      const deferred = await resizes.untilDeferred(name);
      assert.match(condition(deferred, 'PodResizePending')?.message ?? '', /cpu/);
      assert.deepEqual((await resizes.values(name))[0], '102');
      assert.equal((await node.get('beside')).status?.phase, 'Running');
    });

    test('keeps what it has when it ends after an infeasible resize', { skip: !isV1 && 'feasible with cgroup v2' }, async () => {
      const resizes = new Resizes(node);
      const isInfeasible = (pod: Pod) => pendingReason(pod) === 'Infeasible';
      applyWith('200m', '16Mi');
      const infeasible = await node.until(name, 'is infeasible', isInfeasible);
      const message = 'Memory-backed emptyDir volume resize is not supported on cgroups v1';
      assert.equal(condition(infeasible, 'PodResizePending')?.message, message);
      const detail = 'reason_detail="cgroups_v1_unsupported"';
      assert.deepEqual(await resizes.metric('kubelet_pod_infeasible_resizes_total'), { [detail]: 1 });
      await node.restartKubelet('SIGKILL');
      // The kubelet's server starts after its node was Ready.
      const answers = () =>
        node.exec(name, 'true').then(
          () => true,
          () => false,
        );
      await waitUntil('the pod takes commands again', answers, 60_000);
      // The shell may exit with the container before it has printed the result.
      await node.exec(name, 'kill 1').catch(() => {});
      const restarted = await node.until(name, 'runs again', (pod) => appOf(pod)?.restartCount === 1 && appOf(pod)?.ready === true);
      assert.ok(isInfeasible(restarted));
      assert.deepEqual((await resizes.values(name)).slice(0, 2), ['102', '10000']);
      assert.deepEqual(appOf(restarted)?.resources, guaranteed('100m', '32Mi'));
    });
  });

  test('shows a completed init container that the runtime lost, across a restart of the kubelet', async () => {
    apply('initialized', { initContainers: [aBusybox({ name: 'first', sh: 'exit 0' })] });
    const before = await node.untilRunning(mirrorName('initialized'));
    const id = before.status?.initContainerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    await node.node.stopKubelet();
    await node.node.cri.runtime.call('removeContainer', { containerId: id }, { deadlineMs: 10_000 });
    await node.node.startKubelet();
    const pod = await node.until(
      mirrorName('initialized'),
      'shows its init container without the removed one',
      ({ status }) => status?.initContainerStatuses?.[0]?.state?.terminated?.containerID === undefined,
    );
    assert.deepEqual(pod.status?.initContainerStatuses?.[0]?.state, {
      terminated: {
        exitCode: 0,
        reason: 'Completed',
        message: 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
        startedAt: null,
        finishedAt: null,
      },
    });
    assert.equal(pod.status?.phase, 'Running');
    assert.equal(containerID(pod), containerID(before));
  });

  test('runs on, or again, when its mirror pod says that it has ended', async () => {
    apply('ended');
    apply('lost');
    const ended = await node.untilRunning(mirrorName('ended'));
    const lost = await node.untilRunning(mirrorName('lost'));
    await node.node.stopKubelet();
    const status = { phase: 'Failed', reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };
    for (const name of ['ended', 'lost']) await node.api.patch(`${node.podsPath}/${mirrorName(name)}/status`, { status });
    // As after a reboot: the runtime has nothing of the pod.
    const { items } = await node.node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
    const sandbox = items.find(({ metadata }) => metadata?.name === mirrorName('lost'));
    await node.node.cri.runtime.call('stopPodSandbox', { podSandboxId: sandbox?.id ?? '' }, { deadlineMs: 30_000 });
    await node.node.cri.runtime.call('removePodSandbox', { podSandboxId: sandbox?.id ?? '' }, { deadlineMs: 30_000 });
    await node.node.startKubelet();
    const isRunning = ({ status: { phase, reason } = {} }: Pod) => phase === 'Running' && reason === undefined;
    assert.equal(containerID(await node.until(mirrorName('ended'), 'runs on', isRunning)), containerID(ended));
    assert.notEqual(containerID(await node.until(mirrorName('lost'), 'runs again', isRunning)), containerID(lost));
  });

  test('leaves no mirror pod when its manifest was removed while the kubelet was down', async () => {
    apply('orphan');
    apply('stays');
    const { metadata } = await node.untilRunning(mirrorName('orphan'));
    const stays = await node.untilRunning(mirrorName('stays'));
    await node.node.stopKubelet();
    node.node.delete('orphan');
    await node.node.startKubelet();
    await node.untilGone(mirrorName('orphan'));
    await waitUntil(
      'the sandbox of the static pod is removed',
      async () => {
        const { items } = await node.node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
        return !items.some((sandbox) => sandbox.metadata?.name === metadata.name);
      },
      60_000,
    );
    const current = await node.get(mirrorName('stays'));
    assert.deepEqual([current.metadata.uid, containerID(current)], [stays.metadata.uid, containerID(stays)]);
  });
});

test('static pods start and run without an API server, and are mirrored when it returns', async (t) => {
  const cluster = await privateCluster(t, { scheduler: false });
  const node = await TestClusterNode.start('cluster-alone', { cluster });
  t.after(() => node.destroy());
  const apply = (name: string) => node.node.apply(aManifest(name, {}, { namespace: node.namespace }));
  const runningContainers = async () => {
    const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
    const { containers } = await node.node.cri.runtime.call('listContainers', { filter }, { deadlineMs: 10_000 });
    return new Map(containers.map(({ labels, id }) => [labels['io.kubernetes.pod.name'], id]));
  };
  const untilContainerRuns = (name: string) =>
    waitUntil(`${name} runs`, async () => (await runningContainers()).get(`${name}-cluster-alone`), 90_000);

  apply('first');
  await node.untilRunning('first-cluster-alone');
  await node.create('bound');
  await node.untilRunning('bound');
  const before = await runningContainers();
  await cluster.controlPlane.stopApiServer(0);
  apply('while-away');
  await untilContainerRuns('while-away');
  // Without the API server a new kubelet does not know bound pods: it terminates none, and starts static ones.
  await node.restartKubelet('SIGKILL');
  apply('after-restart');
  await untilContainerRuns('after-restart');
  await cluster.controlPlane.startApiServer();
  for (const name of ['first', 'while-away', 'after-restart']) await node.untilRunning(`${name}-cluster-alone`);
  await node.create('bound-later');
  await node.untilRunning('bound-later');
  const after = await runningContainers();
  for (const name of ['first-cluster-alone', 'bound']) assert.equal(after.get(name), before.get(name), name);
});
