/** Restarts of containers on a real containerd: back-offs, restart counts, sandbox changes, init containers, sidecars, and the reasons of ends. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ContainerState, ContainerStatus, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, busybox, TestNode } from '../support/kubelet/test-node.ts';

/** The shortest and the longest back-off of the node. */
const backOffSeconds = 8;
const outOfMemory = { sh: 'tail /dev/zero', resources: { limits: { memory: '20Mi' } } };

describe('a container', () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, { config: { crashLoopBackOff: { maxContainerRestartPeriod: `${backOffSeconds}s` } } });
    await node.startKubelet();
  });
  after(() => node.destroy());

  const apply = (name: string, spec: Partial<PodSpec>) => node.apply(aManifest(name, spec));
  const app = ({ status }: Pod) => status?.containerStatuses?.find(({ name }) => name === 'app');
  const init = ({ status }: Pod, index = 0) => status?.initContainerStatuses?.[index];
  const isBackingOff = (status: ContainerStatus | undefined) => status?.state?.waiting?.reason === 'CrashLoopBackOff';
  const endOf = (state: ContainerState | undefined) => [state?.terminated?.reason, state?.terminated?.exitCode];
  const idOf = (status: ContainerStatus | undefined) => status?.containerID?.slice('containerd://'.length) ?? '';
  const restartCounts = ({ status }: Pod) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
      ({ name, restartCount }) => `${name} ${restartCount}`,
    );

  test('keeps its restart count and its back-off when the kubelet restarts', async () => {
    apply('kept', { containers: [aBusybox({ sh: 'exit 7' })] });
    const crashed = await node.until('kept', 'is backed off', (pod) => app(pod)?.restartCount === 1 && isBackingOff(app(pod)));
    await node.stopKubelet('SIGKILL');
    await node.startKubelet();
    const restarted = await node.until('kept', 'was restarted', (pod) => (app(pod)?.restartCount ?? 0) > 1);
    assert.equal(app(restarted)?.restartCount, 2);
    const exitedAt = Date.parse(app(crashed)?.lastState?.terminated?.finishedAt ?? '');
    const { status } = await node.cri.runtime.call('containerStatus', { containerId: idOf(app(restarted)) }, { deadlineMs: 5000 });
    const waitedMs = Number((status?.createdAt ?? 0n) / 1_000_000n) - exitedAt;
    // The API shows whole seconds.
    assert.ok(waitedMs >= backOffSeconds * 1000 - 1000, `it waited ${waitedMs} ms`);
    node.delete('kept');
  });

  describe('while the kubelet runs', { concurrency: 4 }, () => {
    test('starts again with its init containers and sidecars when the sandbox of its pod has died', async () => {
      apply('resandboxed', {
        initContainers: [
          aBusybox({ name: 'first', sh: 'echo first >> /order/log' }),
          aBusybox({ name: 'side', sh: 'echo side >> /order/log; sleep 1000', restartPolicy: 'Always' }),
          aBusybox({ name: 'second', sh: 'echo second >> /order/log' }),
        ].map((container) => ({ ...container, volumeMounts: [{ name: 'order', mountPath: '/order' }] })),
        containers: [aBusybox({ sh: 'echo app >> /order/log; sleep 1000', volumeMounts: [{ name: 'order', mountPath: '/order' }] })],
        volumes: [{ name: 'order', hostPath: { path: `${node.folder}/resandboxed`, type: 'DirectoryOrCreate' } }],
      });
      const { metadata } = await node.untilRunning('resandboxed');
      const filter = { labelSelector: { 'io.kubernetes.pod.uid': metadata.uid } };
      const { items } = await node.cri.runtime.call('listPodSandbox', { filter }, { deadlineMs: 5000 });
      // Its containers continue: the kubelet stops them.
      node.containerd.ctr('task', 'kill', '--signal', 'SIGKILL', items[0]!.id);
      const pod = await node.until('resandboxed', 'runs again', (pod) => app(pod)?.restartCount === 1 && app(pod)?.ready === true);
      assert.deepEqual(restartCounts(pod), ['first 1', 'side 1', 'second 1', 'app 1']);
      assert.deepEqual(
        pod.status?.initContainerStatuses?.map(({ state }) => state?.terminated?.reason ?? Object.keys(state ?? {})[0]),
        ['Completed', 'running', 'Completed'],
      );
      const order = readFileSync(`${node.folder}/resandboxed/log`, 'utf8').trim().split('\n');
      assert.deepEqual(order, ['first', 'side', 'second', 'app', 'first', 'side', 'second', 'app']);
      const { items: sandboxes } = await node.cri.runtime.call('listPodSandbox', { filter }, { deadlineMs: 5000 });
      assert.deepEqual(new Set(sandboxes.map((sandbox) => sandbox.metadata?.attempt)), new Set([0, 1]));
      node.delete('resandboxed');
    });

    test('that has not run starts in another sandbox under Never when the first one has died', async () => {
      const image = busybox.replace(':1', ':late');
      const containers = [aBusybox({ sh: 'exit 0', image, imagePullPolicy: 'Never' })];
      apply('early', { restartPolicy: 'Never', initContainers: [aBusybox({ name: 'first', sh: 'exit 0' })], containers });
      const waiting = await node.until('early', 'waits', (pod) => app(pod)?.state?.waiting?.reason === 'ErrImageNeverPull');
      const filter = { labelSelector: { 'io.kubernetes.pod.uid': waiting.metadata.uid } };
      const { items } = await node.cri.runtime.call('listPodSandbox', { filter }, { deadlineMs: 5000 });
      node.containerd.ctr('task', 'kill', '--signal', 'SIGKILL', items[0]!.id);
      node.containerd.ctr('images', 'tag', busybox, image);
      const ended = await node.until('early', 'has succeeded', ({ status }) => status?.phase === 'Succeeded', 60_000);
      assert.deepEqual(restartCounts(ended), ['first 1', 'app 0']);
      node.delete('early');
    });

    test('that is a sidecar restarts while an init container runs, and stops in reverse order after the others', async () => {
      const volumeMounts = [{ name: 'order', mountPath: '/order' }];
      const stops = (name: string) => ({
        name,
        volumeMounts,
        sh: `trap 'echo ${name} ends >> /order/log; exit 0' TERM; while :; do sleep 1000 & wait $!; done`,
        lifecycle: { preStop: { exec: { command: ['sh', '-c', `echo ${name} preStop >> /order/log`] } } },
      });
      apply('sidecars', {
        terminationGracePeriodSeconds: 20,
        initContainers: [
          aBusybox({ ...stops('side1'), restartPolicy: 'Always' }),
          aBusybox({
            ...stops('side2'),
            sh: `test -e /order/crashed || { touch /order/crashed; exit 3; }; ${stops('side2').sh}`,
            restartPolicy: 'Always',
          }),
          aBusybox({ name: 'waits', sh: 'until test -e /order/go; do sleep 0.1; done', volumeMounts }),
        ],
        containers: [aBusybox(stops('app'))],
        volumes: [{ name: 'order', hostPath: { path: `${node.folder}/sidecars`, type: 'DirectoryOrCreate' } }],
      });
      const initializing = await node.until(
        'sidecars',
        'has restarted its sidecar while its init container runs',
        (pod) => init(pod, 1)?.restartCount === 1 && init(pod, 1)?.started === true && init(pod, 2)?.state?.running !== undefined,
      );
      assert.deepEqual(endOf(init(initializing, 1)?.lastState), ['Error', 3]);
      assert.equal(initializing.status?.phase, 'Pending');
      assert.equal(app(initializing)?.state?.waiting?.reason, 'PodInitializing');
      const conditions = Object.fromEntries(
        initializing.status?.conditions?.map(({ type, status, message }) => [type, [status, message]]) ?? [],
      );
      assert.deepEqual(conditions['Initialized'], ['False', 'containers with incomplete status: [waits]']);
      assert.deepEqual(conditions['ContainersReady'], ['False', 'containers with unready status: [app]']);
      const { containers } = await node.cri.runtime.call('listContainers', {}, { deadlineMs: 5000 });
      const side1 = containers.find(({ metadata }) => metadata?.name === 'side1');
      await node.cri.runtime.call('execSync', { containerId: side1!.id, cmd: ['touch', '/order/go'], timeout: 5n }, { deadlineMs: 10_000 });
      await node.untilRunning('sidecars');
      node.delete('sidecars');
      await node.untilGone('sidecars');
      const ends = readFileSync(`${node.folder}/sidecars/log`, 'utf8').trim().split('\n');
      assert.deepEqual(
        ends.filter((line) => line.endsWith('ends')),
        ['app ends', 'side2 ends', 'side1 ends'],
      );
      assert.deepEqual(ends.filter((line) => line.endsWith('preStop')).toSorted(), ['app preStop', 'side1 preStop', 'side2 preStop']);
    });

    test('that is an init container runs again after a failure, except under Never', async () => {
      const sh = 'test -e /state/tried && exit 0; touch /state/tried; exit 6';
      const initContainers = [aBusybox({ name: 'first', sh, volumeMounts: [{ name: 'state', mountPath: '/state' }] })];
      const volumes = [{ name: 'state', emptyDir: {} }];
      apply('init-always', { initContainers, volumes });
      apply('init-onfailure', { initContainers, volumes, restartPolicy: 'OnFailure' });
      apply('init-never', { initContainers, volumes, restartPolicy: 'Never' });
      apply('init-rule', {
        initContainers: [
          {
            ...initContainers[0]!,
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [6] } }],
          },
        ],
        volumes,
        restartPolicy: 'Never',
      });
      for (const name of ['init-always', 'init-onfailure', 'init-rule']) {
        const pod = await node.untilRunning(name);
        assert.deepEqual(
          [init(pod)?.restartCount, ...endOf(init(pod)?.state), ...endOf(init(pod)?.lastState)],
          [1, 'Completed', 0, 'Error', 6],
        );
        node.delete(name);
      }
      const failed = await node.until('init-never', 'has failed', ({ status }) => status?.phase === 'Failed');
      assert.deepEqual([init(failed)?.restartCount, ...endOf(init(failed)?.state)], [0, 'Error', 6]);
    });

    test('has the reason OOMKilled when it exceeds its memory limit, also as init container and sidecar', async () => {
      apply('oom', { restartPolicy: 'Never', containers: [aBusybox(outOfMemory)] });
      apply('oom-init', { restartPolicy: 'Never', initContainers: [aBusybox({ ...outOfMemory, name: 'first' })] });
      apply('oom-sidecar', { initContainers: [aBusybox({ ...outOfMemory, name: 'side', restartPolicy: 'Always' })] });
      // The runtime may report the exit first, and the reason a moment later.
      const isOutOfMemory = (state: ContainerState | undefined) =>
        state?.terminated?.reason === 'OOMKilled' && state.terminated.exitCode === 137;
      await node.until('oom', 'has failed', (pod) => pod.status?.phase === 'Failed' && isOutOfMemory(app(pod)?.state));
      await node.until('oom-init', 'has failed', (pod) => pod.status?.phase === 'Failed' && isOutOfMemory(init(pod)?.state));
      await node.until('oom-sidecar', 'restarts its sidecar', (pod) => isBackingOff(init(pod)) && isOutOfMemory(init(pod)?.lastState));
      node.delete('oom-sidecar');
    });

    test('has the reason Error and the code of its signal or of its exit', async () => {
      apply('signals', {
        restartPolicy: 'Never',
        containers: [
          // Its own SIGKILL: a shell of its PID namespace cannot kill PID 1.
          aBusybox({ name: 'killed', sh: 'sh -c "kill -9 \\$\\$"; exit $?' }),
          aBusybox({ name: 'termed', sh: 'sh -c "kill -15 \\$\\$"; exit $?' }),
          aBusybox({ name: 'high', sh: 'exit 255' }),
          aBusybox({ name: 'constructor', sh: 'exit 0' }),
          // A child of it exceeds the memory limit before.
          aBusybox({ ...outOfMemory, name: 'survivor', sh: 'tail /dev/zero; sh -c "kill -15 \\$\\$"; exit $?' }),
        ],
      });
      const { status } = await node.until('signals', 'has failed', ({ status: { phase } = {} }) => phase === 'Failed');
      assert.deepEqual(
        status?.containerStatuses?.map(({ name, state }) => [name, ...endOf(state)]),
        [
          ['constructor', 'Completed', 0],
          ['high', 'Error', 255],
          ['killed', 'Error', 137],
          ['survivor', 'Error', 143],
          ['termed', 'Error', 143],
        ],
      );
    });

    test('that cannot be started has the reason of the runtime, and is backed off', async () => {
      apply('unstartable', { containers: [aBusybox({ name: 'constructor', command: ['/none/such'] })] });
      const only = ({ status }: Pod) => status?.containerStatuses?.[0];
      const failed = await node.until('unstartable', 'could not be started', (pod) => only(pod)?.lastState?.terminated !== undefined);
      assert.deepEqual(endOf(only(failed)?.lastState), ['StartError', 128]);
      assert.match(only(failed)?.lastState?.terminated?.message ?? '', /\/none\/such/);
      const { state } = only(await node.until('unstartable', 'is backed off', (pod) => isBackingOff(only(pod)))) ?? {};
      assert.match(
        state?.waiting?.message ?? '',
        /^back-off 8s restarting failed container=constructor pod=unstartable-test-node_default\(/,
      );
      await waitUntil(
        'it was tried again',
        async () => (only(await node.until('unstartable', 'is there', () => true))?.restartCount ?? 0) >= 2,
      );
      node.delete('unstartable');
    });

    test('that the runtime refuses to create or to start has the reason, the message and the event of each failed step', async () => {
      const file = join(node.folder, 'a-file');
      writeFileSync(file, '');
      apply('refused', {
        containers: [
          aBusybox({ name: 'uncreatable', volumeMounts: [{ name: 'below-a-file', mountPath: '/mnt' }] }),
          aBusybox({ name: 'unstartable', command: ['no-such-command'] }),
          aBusybox(),
        ],
        volumes: [{ name: 'below-a-file', hostPath: { path: join(file, 'below') } }],
      });
      const statusOf = ({ status }: Pod, name: string) => status?.containerStatuses?.find((each) => each.name === name);
      const pod = await node.until(
        'refused',
        'runs its other container',
        (each) =>
          statusOf(each, 'uncreatable')?.state?.waiting?.reason === 'CreateContainerError' &&
          statusOf(each, 'unstartable')?.lastState?.terminated !== undefined &&
          app(each)?.ready === true,
      );
      // A container that was not created has no instance: nothing is restarted, and nothing is backed off.
      const { state, lastState, restartCount } = statusOf(pod, 'uncreatable') ?? {};
      assert.match(state?.waiting?.message ?? '', /^failed to generate container .*a-file\/below: not a directory$/);
      assert.deepEqual([lastState, restartCount], [{}, 0]);
      const terminated = statusOf(pod, 'unstartable')?.lastState?.terminated;
      assert.deepEqual([terminated?.reason, terminated?.exitCode, terminated?.startedAt], ['StartError', 128, '1970-01-01T00:00:00Z']);
      assert.match(
        terminated?.message ?? '',
        /^failed to create containerd task: .*"no-such-command": executable file not found in \$PATH/,
      );
      const warningsOf = (name: string) =>
        [...node.log().matchAll(/^.* type="Warning" .*$/gm)]
          .map(([line]) => line)
          .filter((line) => line.includes(`spec.containers{${name}}`));
      await waitUntil('each failure has its event', () => warningsOf('uncreatable').length > 0 && warningsOf('unstartable').length > 0);
      assert.match(
        warningsOf('uncreatable')[0]!,
        /reason="Failed".*eventMessage="Error: failed to generate container .*: not a directory"/,
      );
      assert.match(warningsOf('unstartable')[0]!, /reason="Failed".*eventMessage="Error: failed to .*executable file not found in \$PATH/);
    });
  });

  test('of a pod that was removed while no kubelet ran is removed with its sandbox, its logs and their symlinks', async () => {
    apply('orphan', { containers: [aBusybox({ sh: 'echo started; sleep 1000' })] });
    apply('stays', {});
    const { metadata } = await node.untilRunning('orphan');
    const { metadata: kept } = await node.untilRunning('stays');
    await node.stopKubelet();
    node.delete('orphan');
    // What is left of a pod that even the runtime has forgotten.
    const forgotten = join(node.podLogs, 'default_forgotten_00000000-0000-0000-0000-00000000f0f0');
    mkdirSync(join(forgotten, 'app'), { recursive: true });
    const link = `/var/log/containers/forgotten_default_app-${'f'.repeat(64)}.log`;
    symlinkSync(join(forgotten, 'app/0.log'), link);
    const before = new Date(Date.now() - 60_000);
    utimesSync(forgotten, before, before);
    await node.startKubelet();
    await node.untilGone('orphan');
    const logsOf = (uid: string) => readdirSync(node.podLogs).filter((name) => name.endsWith(uid));
    await waitUntil('the logs are gone', () => logsOf(metadata.uid).length === 0 && !existsSync(forgotten), 30_000);
    const links = () => readdirSync('/var/log/containers').filter((name) => /^(?:orphan-test-node|forgotten)_default_/.test(name));
    await waitUntil('their symlinks are gone', () => links().length === 0, 30_000);
    assert.equal(logsOf(kept.uid).length, 1);
    node.delete('stays');
  });
});
