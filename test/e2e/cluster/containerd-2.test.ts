/**
 * What only a runtime with newer features offers, on containerd 2.1: volumes of pods with a user namespace, image volumes, groups, recursive mounts; and
 * resizes there.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { NodeStatus } from '../../../src/main/node/node-object.ts';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { buildImageArchive, busyboxArchive, groupsImage, imageCache } from '../../../lab/containerd/local-images.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import {
  burstableSteps,
  growsAndShrinks,
  guaranteedSteps,
  resizesPodLevel,
  restartsByPolicy,
  waitsForLessUsage,
} from '../../support/cluster/resize-scenarios.ts';
import { appOf, guaranteed, pendingReason, Resizes, withResources } from '../../support/cluster/resizes.ts';
import { PrivateRegistry } from '../../support/kubelet/private-registry.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';

const featureGates = { AtomicWriteVolumeUserFields: true, EmptyDirVolumeMode: true, VolumeBindMountOptions: true };

describe('containerd 2.1', () => {
  let cluster: TestClusterNode;
  const hooks = new Cleanups();
  before(async () => {
    cluster = await TestClusterNode.start('containerd-2', {
      containerd: '2.1',
      // The runtime says cgroupfs.
      config: { featureGates, cgroupDriver: 'systemd' },
    });
  });
  after(async () => {
    await hooks.run();
    await cluster?.destroy();
  });

  const folderOf = ({ metadata }: Pod) => join(cluster.node.rootDir, 'pods', metadata.uid);
  const resizes = () => new Resizes(cluster);
  const ownerOf = (path: string) => {
    const { uid, gid } = lstatSync(path);
    return `${uid} ${gid}`;
  };

  test('the node reports the features of its runtime', async () => {
    const { status } = await cluster.api.get<{ status: NodeStatus }>(cluster.nodePath);
    const features = { recursiveReadOnlyMounts: true, userNamespaces: true };
    assert.deepEqual(status.runtimeHandlers?.find(({ name }) => name === '')?.features, features);
    assert.deepEqual(status.features, { supplementalGroupsPolicy: true });
  });

  test('/configz shows the cgroup driver of the runtime', async () => {
    const { kubeletconfig } = await cluster.api.get<{ kubeletconfig: { cgroupDriver: string } }>(`${cluster.nodePath}/proxy/configz`);
    assert.equal(kubeletconfig.cgroupDriver, 'cgroupfs');
  });

  test('volumes of a pod with a user namespace belong to its users, on the host to the same users of the host', async () => {
    await cluster.kubectl('create', 'secret', 'generic', 's', '--from-literal=key=geheim');
    await cluster.kubectl('create', 'configmap', 'c', '--from-literal=key=value');
    const hostPath = join(cluster.node.folder, 'host-path');
    mkdirSync(hostPath);
    const volumes: NonNullable<PodSpec['volumes']> = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'secret', secret: { secretName: 's', defaultMode: 0o400 } },
      { name: 'config', configMap: { name: 'c' } },
      { name: 'downward', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { name: 'host', hostPath: { path: hostPath } },
    ];
    const volumeMounts = [
      ...volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` })),
      { name: 'disk', mountPath: '/v/sub', subPath: 'a/b' },
      { name: 'secret', mountPath: '/v/key', subPath: 'key' },
    ];
    await cluster.create('owners', {
      hostUsers: false,
      containers: [
        aBusybox({ volumeMounts }),
        aBusybox({ name: 'user', volumeMounts, securityContext: { runAsUser: 1000, runAsGroup: 1000 } }),
      ],
      volumes,
    });
    const pod = await cluster.untilRunning('owners');
    const as = (container: string, sh: string) => cluster.kubectl('exec', 'owners', '-c', container, '--', 'sh', '-c', sh);
    assert.match(await as('app', 'cat /proc/self/uid_map'), /^\s+0\s+[1-9]\d*\s+65536\n$/);
    assert.equal(await as('app', 'cd /v; cat secret/key key config/key downward/name'), 'geheimgeheimvalueowners');
    assert.equal(await as('app', 'cat /var/run/secrets/kubernetes.io/serviceaccount/namespace'), cluster.namespace);
    const files = ['disk', 'memory', 'sub', 'host', 'secret/..data/key', 'config/..data/key'].map((name) => `/v/${name}`);
    const stat = (paths: readonly string[]) => `stat -c '%u %g' ${paths.join(' ')} /etc/hosts /dev/termination-log | sort -u`;
    assert.equal(await as('app', stat(files)), '0 0\n');
    await as('app', 'for one in disk memory sub host; do echo x > /v/$one/root || exit 1; done; echo y >> /dev/termination-log');
    await as('user', 'for one in disk memory; do echo x > /v/$one/user || exit 1; done; ! cat /v/secret/key && ! touch /v/host/user');
    const folder = folderOf(pod);
    const written = ['disk/root', 'disk/user', 'disk/a/b/root'].map((path) => join(folder, 'volumes/kubernetes.io~empty-dir', path));
    assert.deepEqual([...written, join(hostPath, 'root')].map(ownerOf), ['0 0', '1000 1000', '0 0', '0 0']);
    await cluster.delete('owners', { gracePeriodSeconds: 1 });
    await cluster.untilGone('owners');
  });

  test('a pod with a user namespace and an fsGroup shares its volumes', async () => {
    const volumes = [
      { name: 'data', emptyDir: {} },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const sh = "touch /data/own && stat -c '%u %g %a' /data /data/own /token/..data/token && id -G";
    const output = await cluster.outputOf('fs-group', {
      hostUsers: false,
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
      containers: [aBusybox({ sh, volumeMounts })],
      volumes,
    });
    assert.equal(output, '0 2000 2777\n1000 2000 644\n1000 2000 640\n1000 2000');
  });

  for (const [hostUsers, pods, where] of [
    [true, 'host-users', 'with the host’s users'],
    [false, 'own-users', 'in a user namespace'],
  ] as const) {
    test(`files of volumes belong to the users of the spec, ${where}`, async () => {
      for (const kind of [['secret', 'generic'], ['configmap']])
        await cluster.kubectl('create', ...kind, `of-${pods}`, '--from-literal=key=x');
      const fieldRef = { fieldPath: 'metadata.name' };
      const volumes: NonNullable<PodSpec['volumes']> = [
        { name: 'secret', secret: { secretName: `of-${pods}`, defaultUser: 1001, defaultMode: 0o400 } },
        { name: 'config', configMap: { name: `of-${pods}`, defaultUser: 1001, items: [{ key: 'key', path: 'deep/key', user: 1002 }] } },
        { name: 'info', downwardAPI: { defaultUser: 1003, items: [{ path: 'name', fieldRef }] } },
        {
          name: 'all',
          projected: {
            defaultUser: 1004,
            sources: [
              { secret: { name: `of-${pods}`, items: [{ key: 'key', path: 'secret', user: 1005 }] } },
              { downwardAPI: { items: [{ path: 'name', fieldRef }] } },
              { serviceAccountToken: { path: 'token', user: 1000 } },
            ],
          },
        },
      ];
      const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
      const files = '/secret/key /config/deep/key /info/name /all/secret /all/name /all/token';
      const spec = (sh: string, fsGroup?: number) => ({
        hostUsers,
        automountServiceAccountToken: false,
        securityContext: { runAsUser: 1000, ...(fsGroup !== undefined && { fsGroup }) },
        containers: [aBusybox({ sh, volumeMounts })],
        volumes,
      });
      const stat = `stat -L -c '%u:%g %a' ${files}`;
      // The lines of one stream keep their order.
      const alone = await cluster.outputOf(
        `${pods}-alone`,
        spec(`${stat}; test -r /all/token && echo readable; cat /secret/key 2>&1 || true`),
      );
      const shown = (output: string) => output.split('\n').slice(0, 7).join(', ');
      assert.equal(shown(alone), '1001:0 400, 1002:0 644, 1003:0 644, 1005:0 644, 1004:0 644, 1000:0 600, readable');
      assert.match(alone, /cat: can't open '\/secret\/key': Permission denied/);
      const inGroup = await cluster.outputOf(`${pods}-group`, spec(`${stat}; cat /secret/key`, 2000));
      assert.equal(shown(inGroup), '1001:2000 440, 1002:2000 644, 1003:2000 644, 1005:2000 644, 1004:2000 644, 1000:2000 640, x');
    });

    test(`an emptyDir has the mode of its spec on disk and in memory, ${where}`, async () => {
      const emptyDirs = { closed: { mode: 0o750 }, sticky: { mode: 0o1777 }, memory: { medium: 'Memory', mode: 0o700 }, usual: {} };
      const volumes = Object.entries(emptyDirs).map(([name, emptyDir]) => ({ name, emptyDir }));
      const volumeMounts = [
        ...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
        { name: 'sticky', mountPath: '/below', subPath: 'a' },
      ];
      const sh =
        'stat -c "%n %a" /closed /sticky /memory /usual /below; touch /sticky/x && echo written; touch /closed/x /memory/x 2>&1; true';
      const spec = { hostUsers, securityContext: { runAsUser: 1000 }, containers: [aBusybox({ sh, volumeMounts })], volumes };
      const output = await cluster.outputOf(`${pods}-modes`, spec);
      const written = ['/closed 750', '/sticky 1777', '/memory 700', '/usual 777', '/below 1777', 'written'];
      assert.deepEqual(output.split('\n').slice(0, 6), written);
      assert.equal(output.match(/Permission denied/g)?.length, 2);
    });
  }

  test('a static pod has the modes and users of its manifest, and so has its mirror pod', async () => {
    const volumes = [
      { name: 'data', emptyDir: { mode: 0o1770 } },
      { name: 'info', downwardAPI: { defaultUser: 1001, items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const sh = "stat -L -c '%u %a' /data /info/name";
    const spec = { restartPolicy: 'Never', containers: [aBusybox({ sh, volumeMounts })], volumes };
    cluster.node.apply(aManifest('static', spec, { namespace: cluster.namespace }));
    const mirror = await cluster.untilEnded('static-containerd-2');
    assert.equal(await cluster.kubectl('logs', 'static-containerd-2'), '0 1770\n1001 644\n');
    assert.deepEqual(
      mirror.spec.volumes?.slice(0, 2).map(({ emptyDir, downwardAPI }) => emptyDir?.mode ?? downwardAPI?.defaultUser),
      [0o1770, 1001],
    );
    cluster.node.delete('static');
    await cluster.untilGone('static-containerd-2');
  });

  test('a pod with bind mount options is refused, because the runtime has none', async () => {
    await cluster.create('bind-options', {
      containers: [aBusybox({ volumeMounts: [{ name: 'data', mountPath: '/data', bindMountOptions: ['noexec'] }] })],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    const { status } = await cluster.untilEnded('bind-options');
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message],
      ['Failed', 'PodFeatureUnsupported', 'Pod was rejected: Pod requires node features that are not available: VolumeBindMountOptions'],
    );
    const { status: node } = await cluster.api.get<{ status: NodeStatus }>(cluster.nodePath);
    assert.ok(!node.declaredFeatures?.includes('VolumeBindMountOptions'));
  });

  test('a volume whose file system cannot map IDs fails the container, with the reason', async () => {
    await cluster.create('unmappable', {
      hostUsers: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'proc', mountPath: '/host-proc' }] })],
      volumes: [{ name: 'proc', hostPath: { path: '/proc' } }],
    });
    await cluster.untilEvent('unmappable', 'Failed', /Error: .*(idmap|MOUNT_ATTR_IDMAP|mount_setattr|id-map)/i);
    await cluster.delete('unmappable', { gracePeriodSeconds: 0 });
  });

  test('supplementalGroupsPolicy decides about the groups of the image', async () => {
    const { name } = groupsImage;
    cluster.node.containerd.ctr('images', 'import', '--base-name', name, buildImageArchive(imageCache, groupsImage));
    const groupsWith = (supplementalGroupsPolicy: 'Merge' | 'Strict') =>
      cluster.outputOf(`groups-${supplementalGroupsPolicy.toLowerCase()}`, {
        securityContext: { runAsUser: 65534, runAsGroup: 1000, supplementalGroups: [5], supplementalGroupsPolicy },
        containers: [aBusybox({ image: `${name}:1`, sh: 'id -G' })],
      });
    assert.equal(await groupsWith('Strict'), '1000 5');
    assert.deepEqual((await groupsWith('Merge')).split(' ').sort(), ['100', '1000', '5']);
    assert.deepEqual((await cluster.get('groups-merge')).status?.containerStatuses?.[0]?.user?.linux, {
      uid: 65534,
      gid: 1000,
      supplementalGroups: [5, 100, 1000],
    });
  });

  test('a recursive read-only mount includes the mounts below it', async () => {
    const hostPath = join(cluster.node.folder, 'recursive');
    mkdirSync(join(hostPath, 'below'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(hostPath, 'below')]);
    try {
      const volumeMounts = (['Enabled', 'IfPossible', 'Disabled'] as const).map((recursiveReadOnly) => ({
        name: 'host',
        mountPath: `/${recursiveReadOnly}`,
        readOnly: true,
        recursiveReadOnly,
      }));
      const sh =
        'for one in Enabled IfPossible Disabled; do touch /$one/x 2>/dev/null && echo $one; touch /$one/below/x 2>/dev/null && echo $one/below; done; true';
      const output = await cluster.outputOf('recursive', {
        containers: [aBusybox({ sh, volumeMounts })],
        volumes: [{ name: 'host', hostPath: { path: hostPath } }],
      });
      assert.equal(output, 'Disabled/below');
      const { status } = await cluster.get('recursive');
      const modes = status?.containerStatuses?.[0]?.volumeMounts?.map(({ mountPath, recursiveReadOnly }) => [mountPath, recursiveReadOnly]);
      assert.deepEqual(modes?.slice(0, 3), [
        ['/Enabled', 'Enabled'],
        ['/IfPossible', 'Enabled'],
        ['/Disabled', 'Disabled'],
      ]);
    } finally {
      execFileSync('umount', [join(hostPath, 'below')]);
    }
  });

  test('a Guaranteed pod is resized in place', () => growsAndShrinks(cluster, 'guaranteed', guaranteedSteps));
  test('a Burstable pod is resized in place', () => growsAndShrinks(cluster, 'burstable', burstableSteps));
  test('a container restarts if its resize policy says so', () => restartsByPolicy(cluster, 'restarts'));
  test('the resources of a pod itself are resized', async () => {
    await resizesPodLevel(cluster, 'pod-level');
  });
  test('a memory limit below the usage waits for less usage', () => waitsForLessUsage(cluster, 'full'));

  test('pods are resized though the runtime takes no resources of their sandboxes, which it is asked for once', async () => {
    const { items } = await cluster.node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
    await assert.rejects(
      cluster.node.cri.runtime.call('updatePodSandboxResources', { podSandboxId: items[0]!.id }, { deadlineMs: 10_000 }),
      /code = Unimplemented/,
    );
    const updates = 'operation_type="update_podsandbox_resources"';
    const { [updates]: count } = await resizes().metric('kubelet_runtime_operations_total');
    const { [updates]: errors } = await resizes().metric('kubelet_runtime_operations_errors_total');
    assert.deepEqual([count, errors], [1, 1]);
  });

  test('a resize that does not fit is deferred, also by the next kubelet, and decided again when less is asked for', async () => {
    const [small, greedy, less] = [20, await resizes().allocatableMilliCPU(), 40].map((milli) => guaranteed(`${milli}m`, '16Mi'));
    await cluster.create('greedy', withResources(small!));
    const { status } = await cluster.untilRunning('greedy');
    await resizes().of('greedy', greedy!);
    const deferred = await resizes().untilDeferred('greedy');
    assert.deepEqual(appOf(deferred)?.allocatedResources, small!.requests);
    await cluster.restartKubelet('SIGKILL');
    await cluster.untilReady();
    assert.deepEqual([pendingReason(await cluster.get('greedy')), (await resizes().values('greedy'))[0]], ['Deferred', '20']);
    await resizes().of('greedy', less!);
    const resized = await resizes().until('greedy', ({ resources }) => resources?.limits?.['cpu'] === '40m');
    assert.equal(appOf(resized)?.containerID, status?.containerStatuses?.[0]?.containerID);
  });

  test('the API server refuses a resize that changes the QoS class', async () => {
    await cluster.create('best-effort');
    await assert.rejects(resizes().of('best-effort', guaranteed('10m', '16Mi')), /Pod QOS Class may not change/i);
  });

  test('an image volume whose image is missing fails its container, with the reason', async () => {
    await cluster.create('no-image', {
      containers: [aBusybox({ volumeMounts: [{ name: 'model', mountPath: '/model' }] })],
      volumes: [{ name: 'model', image: { reference: '127.0.0.1:1/none:1', pullPolicy: 'IfNotPresent' } }],
    });
    const { status } = await cluster.until('no-image', 'waits for its volume', ({ status: { containerStatuses = [] } = {} }) =>
      ['ErrImagePull', 'ImagePullBackOff'].includes(containerStatuses[0]?.state?.waiting?.reason ?? ''),
    );
    assert.match(status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /127\.0\.0\.1:1\/none:1/);
    const { involvedObject } = await cluster.untilEvent('no-image', 'Failed', /^Failed to pull image "127\.0\.0\.1:1\/none:1": /);
    assert.equal(involvedObject.fieldPath, undefined);
  });

  // The last test: the registry serves the content of the busybox image, and others may not use it then without the secret.
  test('an image volume has the files of the image, pulled with the pod’s secrets', async () => {
    const registry = await PrivateRegistry.start(hooks, busyboxArchive, { me: 'geheim' });
    const login = [`--docker-server=${registry.host}`, '--docker-username=me', '--docker-password=geheim'];
    await cluster.kubectl('create', 'secret', 'docker-registry', 'registry', ...login);
    const reference = `${registry.host}/team/models:1`;
    await cluster.create('image-volume', {
      imagePullSecrets: [{ name: 'registry' }],
      containers: [aBusybox({ volumeMounts: [{ name: 'model', mountPath: '/model' }] })],
      volumes: [{ name: 'model', image: { reference, pullPolicy: 'Always' } }],
    });
    await cluster.untilRunning('image-volume');
    assert.match(await cluster.exec('image-volume', 'head -n 1 /model/etc/passwd'), /^root:x:0:0:/);
    assert.equal(await cluster.exec('image-volume', 'touch /model/x 2>/dev/null || echo read-only'), 'read-only\n');
    assert.deepEqual(registry.pulls, ['me team/models:1']);
    await cluster.untilEvent('image-volume', 'Pulled', new RegExp(`^Successfully pulled image "${reference}" in `));
  });
});
