/** User namespaces (`hostUsers: false`) and image volumes, on a containerd that has them (2.1) and on one that lacks them (1.7). */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { containerd23 } from '../../lab/containerd/installations/containerd-2.3.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { runningOf, sandboxesOf } from '../support/kubelet/observed-node-state.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, busybox, TestNode } from '../support/kubelet/test-node.ts';

/** Not the default. */
const idsPerPod = 131_072;

const untilStopped = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

/** The first ID of the host in a line of /proc/PID/uid_map. */
function hostIDOf(map: string, wantedLength = idsPerPod): number {
  const [, inside, outside, length] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/m.exec(map) ?? [];
  assert.deepEqual([inside, length], ['0', String(wantedLength)], map);
  return Number(outside);
}

describe('containerd 2.1', () => {
  let node: TestNode;
  const config: Record<string, unknown> = { featureGates: { ImageVolumeWithDigest: true }, userNamespaces: { idsPerPod } };
  before(async () => {
    node = await TestNode.start(null, { containerd: '2.1', config });
    await node.startKubelet();
  });
  after(() => node.destroy());

  const apply = (name: string, spec: Partial<PodSpec>) => node.apply(aManifest(name, { hostUsers: false, ...spec }));
  const printing = aBusybox({ sh: `cat /proc/self/uid_map; id -u; ${untilStopped}` });
  /** Waits for the two lines that a container prints at its start. */
  const outputOf = (pod: Pod, restart = 0) =>
    waitUntil('the container prints its IDs', () => {
      const output = node.logsOf(pod, 'app', restart);
      return output.split('\n').length === 2 ? output : undefined;
    });
  const fileOf = ({ metadata }: Pod) => join(node.rootDir, 'pods', metadata.uid, 'userns');

  test('a pod with a user namespace runs its root as another user of the host, and keeps these IDs across a restart of the kubelet', async () => {
    apply('one', { containers: [printing] });
    apply('two', { containers: [printing] });
    const [one, two] = await Promise.all([node.untilRunning('one'), node.untilRunning('two')]);
    const maps = await Promise.all([outputOf(one), outputOf(two)]);
    const ids = maps.map((map) => hostIDOf(map));
    assert.ok(ids.every((id) => id >= idsPerPod && id % idsPerPod === 0));
    assert.notEqual(ids[0], ids[1]);
    assert.ok(maps.every((map) => map.endsWith('\n0')));
    const mappings = [{ hostId: ids[0], containerId: 0, length: idsPerPod }];
    assert.deepEqual(JSON.parse(readFileSync(fileOf(one), 'utf8')), { uidMappings: mappings, gidMappings: mappings });

    await node.stopKubelet();
    await node.startKubelet();
    apply('three', { containers: [printing] });
    const three = await node.untilRunning('three');
    assert.ok(!ids.includes(hostIDOf(await outputOf(three))));
    // A container that is created now joins the user namespace of its pod, which must have the same IDs.
    const [container] = await runningOf(node, one.metadata.uid);
    await node.cri.runtime.call('stopContainer', { containerId: container!, timeout: 0n }, { deadlineMs: 10_000 });
    const restarted = await node.until('one', 'is restarted', ({ status }) => {
      const app = status?.containerStatuses?.[0];
      return app?.restartCount === 1 && app.state?.running !== undefined;
    });
    assert.equal(hostIDOf(await outputOf(restarted, 1)), ids[0]);

    node.delete('one');
    await node.untilGone('one');
    await waitUntil('its IDs are free', () => !existsSync(fileOf(one)));
  });

  test('IDs that do not fit the settings any more fail their own pod, and no other pod gets them', async () => {
    const two = await node.untilRunning('two');
    const id = hostIDOf(await outputOf(two));
    await node.stopKubelet();
    delete config['userNamespaces'];
    await node.startKubelet();
    apply('four', { containers: [printing] });
    const other = hostIDOf(await outputOf(await node.untilRunning('four')), 65_536);
    assert.ok(other < id || other >= id + idsPerPod, `${other} is one of the ${idsPerPod} IDs from ${id} on`);
    // Its containers start again in its user namespace, until its sandbox ends.
    const [container] = await runningOf(node, two.metadata.uid);
    assert.ok(container, 'the pod with unusable IDs still runs');
    await node.cri.runtime.call('stopContainer', { containerId: container, timeout: 0n }, { deadlineMs: 10_000 });
    const isRestarted = ({ status }: Pod) =>
      status?.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].started === true;
    assert.equal(hostIDOf(await outputOf(await node.until('two', 'is restarted', isRestarted), 1)), id);
    await node.stopKubelet();
    const sandbox = (await sandboxesOf(node)).find(({ metadata }) => metadata?.uid === two.metadata.uid);
    await node.cri.runtime.call('stopPodSandbox', { podSandboxId: sandbox!.id }, { deadlineMs: 30_000 });
    await node.startKubelet();
    const problem = `Failed to create pod sandbox: user namespace: ${fileOf(two)}: wrong user namespace length ${idsPerPod}`;
    await waitUntil('an event names the file', () => node.log().includes(problem), 20_000);
    node.delete('two');
    await node.untilGone('two');
    const others = await Promise.all([node.untilRunning('three'), node.untilRunning('four')]);
    assert.deepEqual(
      others.map(({ status }) => status?.containerStatuses?.[0]?.restartCount),
      [0, 0],
    );
  });

  test('a pod with a user namespace can have an unmasked /proc, which one with the host’s users cannot', async () => {
    const file = '/proc/sys/kernel/shm_rmid_forced';
    const sh = `(cat ${file} > ${file}) 2>/dev/null && echo writable || echo read-only; grep -c " /proc/" /proc/self/mountinfo`;
    const containers = (procMount: string) => [aBusybox({ sh, securityContext: { procMount } })];
    apply('unmasked', { restartPolicy: 'Never', containers: containers('Unmasked') });
    apply('default', { restartPolicy: 'Never', containers: containers('Default') });
    apply('host-users', { hostUsers: true, containers: containers('Unmasked') });
    const hasEnded = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed';
    const [unmasked, masked] = await Promise.all(['unmasked', 'default'].map((name) => node.until(name, 'has ended', hasEnded)));
    assert.equal(node.logsOf(unmasked!, 'app'), 'writable\n0');
    assert.match(node.logsOf(masked!, 'app'), /^read-only\n[1-9]/);
    await waitUntil('the pod with the host’s users is refused', () => node.log().includes('`hostUsers` must be false to use `Unmasked`'));
  });

  test('the user and the groups of a container are in its status', async () => {
    const securityContext = { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [5], supplementalGroupsPolicy: 'Strict' };
    node.apply(aManifest('user', { securityContext }));
    const { status } = await node.untilRunning('user');
    const { uid, gid, supplementalGroups } = status?.containerStatuses?.[0]?.user?.linux ?? {};
    assert.deepEqual([uid, gid, new Set(supplementalGroups)], [1000, 2000, new Set([5, 2000])]);
  });

  test('an image volume has its digest in the status', async () => {
    const volumeMounts = [{ name: 'model', mountPath: '/model' }];
    const volumes = [{ name: 'model', image: { reference: busybox, pullPolicy: 'IfNotPresent' } }];
    // Also in a user namespace, where the files of the image belong to the pod's users.
    apply('image-volume', { containers: [aBusybox({ volumeMounts, sh: `stat -c '%u %n' /model/*; ${untilStopped}` })], volumes });
    const pod = await node.untilRunning('image-volume');
    await waitUntil('the image is listed', () => /^0 \/model\/bin$/m.test(node.logsOf(pod, 'app')));
    const [mount] = pod.status?.containerStatuses?.[0]?.volumeMounts ?? [];
    assert.match(mount?.volumeStatus?.image?.imageRef ?? '', /^sha256:[0-9a-f]{64}$/);
  });
});

describe('containerd 2.3', () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, { containerd: containerd23, config: { featureGates: { ContainerStopSignals: true } } });
    await node.startKubelet();
  });
  after(() => node.destroy());

  const volumes = [{ name: 'model', image: { reference: busybox, pullPolicy: 'IfNotPresent' } }];

  test('a subPath of an image volume is the folder of the image, also in a user namespace', async () => {
    const volumeMounts = [{ name: 'model', mountPath: '/model', subPath: 'etc' }];
    const app = aBusybox({ volumeMounts, sh: `stat -c '%u %n' /model/*; touch /model/x 2>&1; echo end; ${untilStopped}` });
    for (const [name, hostUsers] of [
      ['sub-path', true],
      ['sub-path-userns', false],
    ] as const) {
      node.apply(aManifest(name, { hostUsers, containers: [app], volumes }));
      const pod = await node.untilRunning(name);
      const output = await waitUntil('the folder is listed', () => /^end$/m.test(node.logsOf(pod, 'app')) && node.logsOf(pod, 'app'));
      assert.match(String(output), /^0 \/model\/passwd$/m);
      assert.match(String(output), /Read-only file system/);
    }
  });

  test('a subPath that the image lacks fails its container, with the reason', async () => {
    const volumeMounts = [{ name: 'model', mountPath: '/model', subPath: 'no-such-folder' }];
    node.apply(aManifest('no-sub-path', { containers: [aBusybox({ volumeMounts })], volumes }));
    const isRefused = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerError';
    const pod = await node.until('no-sub-path', 'is refused', isRefused);
    assert.match(pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /no-such-folder/);
  });

  test('the runtime takes the resources of a resized pod’s sandbox', async () => {
    const resources = (cpu: string) => ({ requests: { cpu, memory: '32Mi' }, limits: { cpu, memory: '32Mi' } });
    const resized = (cpu: string) => aManifest('resized', { containers: [aBusybox({ resources: resources(cpu) })] }, { uid: 'resized' });
    node.apply(resized('100m'));
    const before = await node.untilRunning('resized');
    for (const cpu of ['200m', '50m']) {
      node.apply(resized(cpu));
      const after = await node.until(
        'resized',
        `has ${cpu}`,
        ({ status }) => status?.containerStatuses?.[0]?.resources?.limits?.['cpu'] === cpu,
      );
      assert.deepEqual(
        after.status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
        before.status?.containerStatuses?.map(({ containerID }) => [containerID, 0]),
      );
    }
    // Before each change of the pod’s cgroup: of its quota and its shares.
    const page = await (await node.get('/metrics')).text();
    assert.match(page, /^kubelet_runtime_operations_total\{operation_type="update_podsandbox_resources"\} 4$/m);
    assert.doesNotMatch(page, /^kubelet_runtime_operations_errors_total\{operation_type="update_podsandbox_resources"\}/m);
  });

  test('a container gets the stop signal of its lifecycle', async () => {
    const sh = `trap "echo usr1 > /dev/termination-log; exit 3" USR1; trap "exit 4" TERM; while :; do sleep 1000 & wait $!; done`;
    const containers = [aBusybox({ sh, lifecycle: { stopSignal: 'SIGUSR1' } }), aBusybox({ name: 'default' })];
    node.apply(aManifest('stop-signal', { os: { name: 'linux' }, restartPolicy: 'Never', containers, activeDeadlineSeconds: 5 }));
    const { status } = await node.untilRunning('stop-signal');
    assert.deepEqual(
      status?.containerStatuses?.map(({ name, stopSignal }) => [name, stopSignal]),
      [
        ['app', 'SIGUSR1'],
        ['default', 'SIGTERM'],
      ],
    );
    const failed = await node.until('stop-signal', 'has ended', ({ status: ended }) =>
      (ended?.containerStatuses ?? []).every(({ state }) => state?.terminated !== undefined),
    );
    const { exitCode, message } = failed.status?.containerStatuses?.[0]?.state?.terminated ?? {};
    assert.deepEqual([exitCode, message], [3, 'usr1\n']);
  });
});

describe('containerd 1.7', () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, { containerd: '1.7' });
    await node.startKubelet();
  });
  after(() => node.destroy());

  test('a runtime without user namespaces runs no such pod, and the event says so', async () => {
    node.apply(aManifest('refused', { hostUsers: false }));
    const event = "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    await waitUntil('the pod is refused', () => node.log().includes(event), 20_000);
    const [pod] = await node.pods();
    assert.equal(pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason, 'ContainerCreating');
    assert.ok(!existsSync(join(node.rootDir, 'pods', pod.metadata.uid, 'userns')));
    assert.deepEqual(await sandboxesOf(node), []);
  });

  test('a runtime without image volumes runs no container with one, and the status says so', async () => {
    const volumeMounts = [{ name: 'model', mountPath: '/model' }];
    node.apply(
      aManifest('image-volume', {
        containers: [aBusybox({ volumeMounts }), aBusybox({ name: 'other' })],
        volumes: [{ name: 'model', image: { reference: busybox, pullPolicy: 'IfNotPresent' } }],
      }),
    );
    const isRefused = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerError';
    const pod = await node.until('image-volume', 'is refused', isRefused);
    const { message } = pod.status?.containerStatuses?.[0]?.state?.waiting ?? {};
    assert.match(message ?? '', /^image volumes need containerd 2\.1 or later, this node has 1\.7\./);
    assert.ok(node.log().includes(`eventMessage="Error: ${message}"`));
    await node.until(
      'image-volume',
      'runs its other container',
      ({ status }) => status?.containerStatuses?.[1]?.state?.running !== undefined,
    );
  });
});
