/**
 * Volumes whose usage the filesystem counts (project quotas of ext4), of pods in user namespaces. A file that is deleted while a container has it open takes
 * space that only the filesystem knows of.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PodSpec } from '../../src/shared/kubernetes/api.ts';
import { GuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const config = {
  featureGates: { LocalStorageCapacityIsolationFSQuotaMonitoring: true },
  volumeStatsAggPeriod: '2s',
};
const volumeMounts = [{ name: 'data', mountPath: '/data' }];
/** Writes 30 MiB, and deletes the file that it keeps open. */
const deleting = 'exec 3>/data/file; rm /data/file; dd if=/dev/zero bs=1M count=30 >&3; exec sleep 100000';

describe('a volume with a project quota', () => {
  let cluster: GuestCluster;
  let node: GuestNode;
  before(async () => {
    cluster = await GuestCluster.start();
    node = await GuestNode.start({
      containerd: '2.1',
      share: [cluster.folder],
      config,
      prepare: async (guest) => {
        await guest.check(
          'truncate -s 512M /srv/k.img && mkfs.ext4 -q -O project,quota /srv/k.img && mkdir -p /var/lib/kubelet && mount -o loop /srv/k.img /var/lib/kubelet',
        );
        return cluster.member();
      },
    });
  });
  after(async () => {
    await node?.destroy();
    await cluster?.destroy();
  });

  const apply = (name: string, sh: string, spec: Partial<PodSpec>) =>
    node.apply(aManifest(name, { containers: [aBusybox({ sh, volumeMounts })], ...spec }));
  const data = (sizeLimit?: string): Partial<PodSpec> => ({
    volumes: [{ name: 'data', emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }],
  });
  const volumeOf = (uid: string) => `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
  const print = (file: string) => node.guest.check(`cat ${file}`);
  const projectOf = async (folder: string) => (await node.guest.check(`lsattr -pd ${folder}`)).trim().split(' ')[0];
  /** Bytes, as the summary has them. */
  async function usageOf(name: string): Promise<number> {
    const summary = JSON.parse(await node.get('/stats/summary')) as {
      pods: { podRef: { name: string }; volume?: { name: string; usedBytes?: number }[] }[];
    };
    return (
      summary.pods.find(({ podRef }) => podRef.name === `${name}-guest`)?.volume?.find((volume) => volume.name === 'data')?.usedBytes ?? 0
    );
  }
  async function untilUsed(name: string, bytes: number): Promise<void> {
    // A kubelet that has just started has no summary yet, and answers 500.
    await waitUntil(`${name} uses ${bytes} bytes`, async () => (await usageOf(name).catch(() => 0)) >= bytes, 90_000);
  }

  test('has a project of its own, in upstream’s files, if its pod has a user namespace', async () => {
    await node.guest.check("printf '42:/srv\\n' > /etc/projects && printf 'data:42\\n' > /etc/projid");
    await apply('counted', deleting, { hostUsers: false, ...data() });
    await apply('walked', deleting, data());
    const [{ metadata: counted }, { metadata: walked }] = [await node.untilRunning('counted'), await node.untilRunning('walked')];
    assert.equal(await print('/etc/projects'), `42:/srv\n1048577:${volumeOf(counted.uid)}`);
    assert.equal(await print('/etc/projid'), 'data:42\nvolume1048577:1048577');
    assert.equal(await projectOf(volumeOf(counted.uid)), '1048577');
    assert.equal(await projectOf(volumeOf(walked.uid)), '0');
  });

  test('counts files that were deleted and are still open; a walk does not', async () => {
    await untilUsed('counted', 30 * 2 ** 20);
    assert.ok((await usageOf('walked')) < 2 ** 20);
    await node.untilMetric(/^kubelet_volume_metric_collection_duration_seconds_count\{metric_source="fsquota"\} [1-9]/m);
  });

  test('can’t be given to another project by its container', async () => {
    const pod = await node.untilRunning('counted');
    const id = statusOf(pod)?.containerID?.split('//')[1];
    const pid = await node.guest.check(`cat $(find /sys/fs/cgroup/kubepods.slice -type d -name '*${id}*')/cgroup.procs | head -n 1`);
    const { code } = await node.guest.run(`nsenter -t ${pid} -U chattr -p 7 /proc/${pid}/root/data`);
    assert.notEqual(code, 0);
    assert.equal(await projectOf(volumeOf(pod.metadata.uid)), '1048577');
  });

  test('is counted as before by a restarted kubelet', async () => {
    await node.startKubelet(config);
    await untilUsed('counted', 30 * 2 ** 20);
    assert.equal(statusOf(await node.untilRunning('counted'))?.restartCount, 0);
  });

  test('ends the pod whose deleted files exceed its sizeLimit', async () => {
    // Static pods are never evicted.
    await cluster.create(onNode('excessive', { sh: deleting, volumeMounts }, { hostUsers: false, ...data('20Mi') }));
    const { status } = await node.until('excessive', 'is evicted', (pod) => pod.status?.reason === 'Evicted', 120_000);
    assert.match(status?.message ?? '', /Usage of EmptyDir volume "data" exceeds the limit "20Mi"/);
  });

  test('gives its project back at the end of its pod', async () => {
    for (const name of ['counted', 'walked']) {
      await node.delete(name);
      await node.untilGone(name);
    }
    await node.untilPrints('cat /etc/projects /etc/projid', '42:/srv\ndata:42');
    await apply('next', 'exec sleep 100000', { hostUsers: false, ...data() });
    const { metadata } = await node.untilRunning('next');
    assert.equal(await projectOf(volumeOf(metadata.uid)), '1048577');
  });

  test('does without a project when the files can’t be written, and its pod starts', async () => {
    await node.guest.check('rm /etc/projid && mkdir /etc/projid');
    await apply('unnamed', 'exec sleep 100000', { hostUsers: false, ...data() });
    const { metadata } = await node.untilRunning('unnamed');
    assert.equal(await projectOf(volumeOf(metadata.uid)), '0');
  });
});
