/** Static pods on a real containerd: start, restart, back-off, replacement and termination as upstream. */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

for (const containerd of ['1.7', '1.6'] as const) {
  describe(`on containerd ${containerd}`, () => {
    let node: TestNode;
    before(async () => {
      node = await TestNode.start(null, { containerd });
      await node.startKubelet();
    });
    after(() => node.destroy());

    describe('a pod', { concurrency: true }, () => {
      test('a pod runs after its init container, and terminates without leaving anything', async () => {
        const manifest = aManifest('web', {
          initContainers: [
            aBusybox({ name: 'first', sh: 'echo prepared > /data/file', volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
          ],
          containers: [
            aBusybox({
              sh: 'cat /data/file; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done',
              volumeMounts: [{ name: 'data', mountPath: '/data' }],
            }),
          ],
          volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }],
        });
        node.apply(manifest);
        const pod = await node.untilRunning('web');
        assert.equal(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
        assert.equal(pod.metadata.namespace, 'default');
        assert.match(pod.status?.podIP ?? '', /^10\./);
        await waitUntil('the log has its line', () => node.logsOf(pod, 'app') === 'prepared');
        const podDir = join(node.rootDir, 'pods', pod.metadata.uid);
        assert.ok(readFileSync('/proc/self/mounts', 'utf8').includes(`${podDir}/volumes/kubernetes.io~empty-dir/data`));

        node.delete('web');
        await node.untilGone('web');
        await waitUntil('the pod’s folder is gone', () => !existsSync(podDir));
        assert.ok(!readFileSync('/proc/self/mounts', 'utf8').includes(podDir));
        const cgroups = readdirSync('/sys/fs/cgroup/memory' + node.cgroupRoot, { recursive: true, encoding: 'utf8' });
        assert.deepEqual(
          cgroups.filter((path) => path.includes(pod.metadata.uid)),
          [],
        );
      });

      test('a pod with OnFailure is restarted until it succeeds', async () => {
        const sh = 'test -e /state/tried && exit 0; touch /state/tried; exit 1';
        const containers = [aBusybox({ sh, volumeMounts: [{ name: 'state', mountPath: '/state' }] })];
        node.apply(aManifest('job', { restartPolicy: 'OnFailure', containers, volumes: [{ name: 'state', emptyDir: {} }] }));
        const pod = await node.until('job', 'has succeeded', ({ status }) => status?.phase === 'Succeeded', 45_000);
        assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 1);
        assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
      });

      test('a container that is killed outside of the kubelet is restarted', async () => {
        node.apply(aManifest('killed'));
        const pod = await node.untilRunning('killed');
        const id = pod.status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '';
        node.containerd.ctr('task', 'kill', '--signal', 'SIGKILL', id);
        const restarted = await node.until(
          'killed',
          'runs again',
          ({ status }) => status?.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready,
        );
        assert.equal(restarted.metadata.uid, pod.metadata.uid);
        assert.equal(restarted.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 137);
      });

      test('a changed manifest replaces the pod; the old one terminates before the new one runs', async () => {
        node.apply(aManifest('change'));
        const old = await node.untilRunning('change');
        node.apply(aManifest('change', { containers: [aBusybox({ env: [{ name: 'NEW', value: '1' }] })] }));
        const replacement = await node.until(
          'change',
          'was replaced',
          ({ metadata, status }) => metadata.uid !== old.metadata.uid && status?.phase === 'Running',
        );
        const { items } = await node.cri.runtime.call('listPodSandbox', { filter: { state: { state: 0 } } }, { deadlineMs: 5000 });
        const uids = items.filter(({ metadata }) => metadata?.name === 'change-test-node').map(({ metadata }) => metadata?.uid);
        assert.deepEqual(uids, [replacement.metadata.uid]);
      });

      // The rest does not depend on the event stream, which 1.6 does not have.
      if (containerd === '1.6') return;

      test('a crashing container is restarted after a back-off, and shows its last state', async () => {
        node.apply(aManifest('crash', { containers: [aBusybox({ sh: 'echo bad > /dev/termination-log; exit 7' })] }));
        const pod = await node.until(
          'crash',
          'is in CrashLoopBackOff',
          ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
        );
        const app = pod.status?.containerStatuses?.[0];
        assert.equal(app?.lastState?.terminated?.exitCode, 7);
        assert.equal(app?.lastState?.terminated?.message, 'bad\n');
        assert.match(app?.state?.waiting?.message ?? '', /^back-off \d+s restarting failed container=app pod=crash-test-node_default\(/);
        await node.until('crash', 'was restarted twice', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2, 45_000);
      });

      test('a sidecar starts before the main container and stops after it', async () => {
        const logLifecycle = (container: string) =>
          `echo start-${container} >> /order/log; trap 'echo stop-${container} >> /order/log; exit 0' TERM; while :; do sleep 1000 & wait $!; done`;
        const volumeMounts = [{ name: 'order', mountPath: '/order' }];
        node.apply(
          aManifest('sidecar', {
            initContainers: [aBusybox({ name: 'side', sh: logLifecycle('side'), restartPolicy: 'Always', volumeMounts })],
            containers: [aBusybox({ sh: logLifecycle('main'), volumeMounts })],
            volumes: [{ name: 'order', hostPath: { path: `${node.folder}/order`, type: 'DirectoryOrCreate' } }],
          }),
        );
        await node.untilRunning('sidecar');
        await waitUntil('the main container has started', () => readFileSync(`${node.folder}/order/log`, 'utf8').includes('start-main'));
        node.delete('sidecar');
        await node.untilGone('sidecar');
        assert.deepEqual(readFileSync(`${node.folder}/order/log`, 'utf8').trim().split('\n'), [
          'start-side',
          'start-main',
          'stop-main',
          'stop-side',
        ]);
      });

      test('preStop runs within the grace period; a container that ignores the signal is killed at its end', async () => {
        node.apply(
          aManifest('stubborn', {
            terminationGracePeriodSeconds: 3,
            containers: [
              aBusybox({
                sh: 'trap "" TERM; while :; do sleep 1000 & wait $!; done',
                lifecycle: { preStop: { exec: { command: ['sh', '-c', 'date +%s > /out/prestop; sleep 1'] } } },
                volumeMounts: [{ name: 'out', mountPath: '/out' }],
              }),
            ],
            volumes: [{ name: 'out', hostPath: { path: `${node.folder}/out`, type: 'DirectoryOrCreate' } }],
          }),
        );
        await node.untilRunning('stubborn');
        node.delete('stubborn');
        await node.untilGone('stubborn');
        assert.match(readFileSync(`${node.folder}/out/prestop`, 'utf8'), /^\d+\n$/);
      });

      test('an image that cannot be pulled is backed off and reported', async () => {
        node.apply(aManifest('no-image', { containers: [aBusybox({ image: 'no-registry.invalid/none:1' })] }));
        const pod = await node.until(
          'no-image',
          'shows ImagePullBackOff',
          ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff',
        );
        assert.match(
          pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
          /Back-off pulling image "no-registry.invalid\/none:1": ErrImagePull: /,
        );
        assert.equal(pod.status?.phase, 'Pending');
      });

      test('container logs have the symlinks that log collectors read', async () => {
        node.apply(aManifest('logs', { containers: [aBusybox({ sh: 'echo a-line; sleep 1000' })] }));
        const pod = await node.untilRunning('logs');
        const id = pod.status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '';
        const link = `/var/log/containers/logs-test-node_default_app-${id}.log`;
        assert.ok(lstatSync(link).isSymbolicLink());
        assert.equal(readlinkSync(link), join(node.podLogs, `default_logs-test-node_${pod.metadata.uid}`, 'app', '0.log'));
        await waitUntil('the log has its line', () => readFileSync(link, 'utf8').includes('stdout F a-line'));
      });
    });

    if (containerd === '1.6') return;

    test('the kubelet exits on SIGTERM with code 0, and its pods keep running', async () => {
      node.apply(aManifest('stays'));
      const before = await node.untilRunning('stays');
      assert.equal(await node.stopKubelet('SIGTERM'), 0);
      const { containers } = await node.cri.runtime.call('listContainers', { filter: { state: { state: 1 } } }, { deadlineMs: 5000 });
      assert.ok(containers.some(({ labels }) => labels['io.kubernetes.pod.uid'] === before.metadata.uid));
      await node.startKubelet();
      const after = await node.untilRunning('stays');
      assert.equal(after.status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
      assert.equal(after.status?.containerStatuses?.[0]?.restartCount, 0);
    });
  });
}
