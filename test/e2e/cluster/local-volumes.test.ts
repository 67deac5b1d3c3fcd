/** Pods with claims of folders, disks and paths of this node. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { createBoundClaim } from '../../support/csi-driver/claims.ts';
import { parseMountInfo } from '../../../src/shared/linux/mountinfo.ts';
import { fastTime } from '../../support/kubelet/kubelet-environment.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-local-volumes';
const ofNode = (name: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }] },
});

describe('local persistent volumes', () => {
  let node: TestClusterNode;
  let host: string;
  let device: string | undefined;
  const mounts = () =>
    parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(
      ({ mountPoint }) => mountPoint.startsWith(`${node.node.rootDir}/`) && mountPoint.includes('local-volume'),
    );
  const claim = (name: string, source: object, spec: object = {}) =>
    createBoundClaim(node.api, { namespace: node.namespace, name, spec: { nodeAffinity: ofNode(nodeName), ...source, ...spec } });
  const withClaim = (
    claimName: string,
    sh: string,
    { readOnly = false, ...spec }: { readonly readOnly?: boolean; readonly securityContext?: object } = {},
  ) => ({
    terminationGracePeriodSeconds: 1,
    containers: [
      aBusybox({
        sh,
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'data', mountPath: '/sub', subPath: 'sub' },
        ],
      }),
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName, readOnly } }],
    ...spec,
  });

  before(async () => {
    node = await TestClusterNode.start(nodeName);
    host = join(node.node.folder, 'host');
    mkdirSync(join(host, 'data'), { recursive: true });
    symlinkSync(join(host, 'data'), join(host, 'link'));
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await node?.destroy();
    if (device !== undefined) execFileSync('losetup', ['-d', device]);
  });

  test('a folder keeps the data of its pods, has their group, and is mounted where Go’s kubelet expects it, also after a restart', async () => {
    const volume = await claim('folder', { local: { path: join(host, 'link') } });
    const pod = await node.create(
      'writer',
      withClaim('folder', 'echo kept > /data/f; echo below > /sub/g; exec sleep 3600', { securityContext: { fsGroup: 2000 } }),
    );
    const running = await node.untilRunning('writer');
    const target = join(node.node.rootDir, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~local-volume', volume);
    assert.deepEqual(
      mounts().map(({ mountPoint }) => mountPoint),
      [target],
    );
    assert.equal(await node.exec('writer', 'stat -c %g /data'), '2000\n');
    const mounted = mounts();
    await node.node.stopKubelet('SIGKILL');
    await node.node.startKubelet();
    await node.untilReady();
    await node.create(
      'reader',
      withClaim('folder', 'cat /data/f /sub/g; touch /data/h || echo refused; exec sleep 3600', { readOnly: true }),
    );
    await node.untilRunning('reader');
    await waitUntil('the reader has read', async () => (await node.kubectl('logs', 'reader')).includes('kept\nbelow\n'));
    assert.deepEqual(
      mounts().filter(({ mountPoint }) => mountPoint === target),
      mounted,
    );
    const { status } = await node.get('writer');
    assert.equal(status?.containerStatuses?.[0]?.containerID, running.status?.containerStatuses?.[0]?.containerID);
    for (const name of ['writer', 'reader']) await node.delete(name);
    for (const name of ['writer', 'reader']) await node.untilGone(name);
    await waitUntil('the pod folder is removed', () => !existsSync(join(node.node.rootDir, 'pods', pod.metadata.uid)));
    assert.deepEqual(readdirSync(join(host, 'data')).sort(), ['f', 'sub']);
  });

  test('an empty disk is formatted, mounted with its options on the node and for the pod, and unmounted with its last pod', async () => {
    writeFileSync(join(host, 'disk'), '');
    truncateSync(join(host, 'disk'), 32 << 20);
    device = execFileSync('losetup', ['-f', '--show', join(host, 'disk')], { encoding: 'utf8' }).trim();
    const volume = await claim('disk', { local: { path: device, fsType: 'ext4' } }, { mountOptions: ['noatime'] });
    const global = join(node.node.rootDir, 'plugins/kubernetes.io/local-volume/mounts', volume);
    await node.create('on-disk', withClaim('disk', 'echo kept > /data/f; exec sleep 3600'));
    await node.untilRunning('on-disk');
    const ofDisk = mounts().filter(({ source }) => source === device);
    assert.deepEqual(
      ofDisk.map(({ mountPoint, fsType, options }) => [mountPoint === global, fsType, options.includes('noatime')]),
      [
        [true, 'ext4', true],
        [false, 'ext4', true],
      ],
    );
    await node.delete('on-disk');
    await node.untilGone('on-disk');
    await waitUntil('the disk is unmounted', () => mounts().length === 0 && !existsSync(global));
  });

  test('a path of the node is mounted as it is, once its type is checked', async () => {
    await claim('path', { hostPath: { path: join(host, 'made'), type: 'DirectoryOrCreate' } });
    await node.create('on-path', withClaim('path', 'echo kept > /data/f; exec sleep 3600'));
    await node.untilRunning('on-path');
    await waitUntil('the file is there', () => existsSync(join(host, 'made/f')));
    await claim('wrong-path', { hostPath: { path: join(host, 'made/f'), type: 'Directory' } });
    await node.create('wrong-path', withClaim('wrong-path', 'exec sleep 3600'));
    await node.untilEvent(
      'wrong-path',
      'FailedMount',
      /^MountVolume\.SetUp failed for volume "pv-.*" : hostPath type check failed: .* is not a directory/,
    );
  });

  test('a change of the group that takes long is named in an event; one on root mismatch is skipped for the next pod', async () => {
    mkdirSync(join(host, 'large'));
    for (let index = 0; index < 40_000; index += 1) writeFileSync(join(host, 'large', String(index)), '');
    await node.node.stopKubelet();
    await node.node.startKubelet({ env: fastTime(30) });
    const volume = await claim('large', { local: { path: join(host, 'large') } });
    const securityContext = { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' };
    const pod = await node.create('large', withClaim('large', 'exec sleep 3600', { securityContext }));
    await node.untilEvent(
      'large',
      'VolumePermissionChangeInProgress',
      new RegExp(
        `^Setting volume ownership for ${pod.metadata.uid}/volumes/kubernetes\\.io~local-volume/${volume} is taking longer than expected, consider using OnRootMismatch - https:`,
      ),
    );
    await node.untilRunning('large');
    assert.equal(await node.exec('large', 'stat -c %g /data /data/39999'), '2000\n2000\n');
    await node.delete('large');
    await node.untilGone('large');
    chownSync(join(host, 'large/0'), 0, 7);
    await node.create('next', withClaim('large', 'exec sleep 3600', { securityContext }));
    await node.untilRunning('next');
    assert.equal(await node.exec('next', 'stat -c %g /data /data/0'), '2000\n7\n');
  });

  test('a volume of another node, and one that is not there, are named in events', async () => {
    await claim('far', { local: { path: join(host, 'data') } }, { nodeAffinity: ofNode('another') });
    const volume = await claim('missing', { local: { path: join(host, 'none') } });
    await node.create('far', withClaim('far', 'exec sleep 3600'));
    await node.create('missing', withClaim('missing', 'exec sleep 3600'));
    await node.untilEvent(
      'far',
      'FailedMount',
      /^MountVolume\.NodeAffinity check failed for volume "pv-.*-far" : no matching NodeSelectorTerms$/,
    );
    await node.untilEvent(
      'missing',
      'FailedMount',
      new RegExp(`^MountVolume\\.NewMounter initialization failed for volume "${volume}" : path "${join(host, 'none')}" does not exist$`),
    );
  });
});
