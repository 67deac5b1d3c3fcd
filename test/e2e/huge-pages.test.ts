/** Huge pages on cgroup v1: limits of pods and containers, the node's capacity, volumes of the medium HugePages. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { enterHugePagesNamespace, removeHugePagesHierarchy, type HugePagesNamespace } from '../support/kubelet/huge-pages-namespace.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const MiB = 2 ** 20;
/** Huge pages need a limit of CPU or memory beside. */
const pages = (amount: string) => ({ limits: { memory: '32Mi', 'hugepages-2Mi': amount } });
const stay = 'trap "exit 0" TERM; sleep 100000 & wait $!';

describe('a pod with huge pages', () => {
  let folder: string;
  let namespace: HugePagesNamespace;
  let node: TestNode;
  before(async () => {
    folder = mkdtempSync('/tmp/huge-');
    namespace = enterHugePagesNamespace(folder, 16);
    node = await TestNode.start(null, { hugePageLimits: true });
    await node.startKubelet();
  });
  after(async () => {
    await node?.destroy();
    if (namespace) removeHugePagesHierarchy(namespace);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Of a cgroup in the hierarchy of huge pages. */
  const limitOf = (path: string, size: '2MB' | '1GB') =>
    Number(readFileSync(join('/sys/fs/cgroup/hugetlb', path, `hugetlb.${size}.limit_in_bytes`), 'utf8'));

  test('has their limits as a whole and in each container; a container without has none', async () => {
    node.apply(
      aManifest('limited', {
        containers: [
          aBusybox({ name: 'some', resources: pages('4Mi') }),
          aBusybox({ name: 'more', resources: pages('6Mi') }),
          aBusybox({ name: 'none' }),
        ],
      }),
    );
    const { metadata, status } = await node.untilRunning('limited');
    const pod = `${node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}`;
    assert.deepEqual([limitOf(pod, '2MB'), limitOf(pod, '1GB')], [10 * MiB, 0]);
    const limits = status?.containerStatuses?.map(({ name, containerID = '' }) => {
      const path = `${pod}/${containerID.slice('containerd://'.length)}`;
      return [name, limitOf(path, '2MB'), limitOf(path, '1GB')] as const;
    });
    assert.deepEqual(
      limits?.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      [
        ['more', 6 * MiB, 0],
        ['none', 0, 0],
        ['some', 4 * MiB, 0],
      ],
    );
  });

  test('is refused when the node has too few', async () => {
    // Ten of the node's 32 MiB are in use.
    node.apply(aManifest('refused', { containers: [aBusybox({ resources: pages('24Mi') })] }));
    const { status } = await node.until('refused', 'is refused', (pod) => pod.status?.phase === 'Failed');
    // Nothing can be preempted for a static pod here.
    assert.equal(status?.reason, 'UnexpectedAdmissionError');
    assert.match(status?.message ?? '', /hugepages-2Mi/);
    node.delete('refused');
    node.apply(aManifest('fits', { containers: [aBusybox({ resources: pages('22Mi') })] }));
    await node.untilRunning('fits');
    node.delete('fits');
    await node.untilGone('fits');
  });

  test('has a volume of the medium HugePages with pages of its size, and nothing is left of either', async () => {
    const volumeMounts = [
      { name: 'pages', mountPath: '/pages' },
      { name: 'same', mountPath: '/same' },
    ];
    node.apply(
      aManifest('volume', {
        containers: [aBusybox({ sh: `grep -E ' /(pages|same) ' /proc/mounts; ${stay}`, resources: pages('2Mi'), volumeMounts })],
        volumes: [
          { name: 'pages', emptyDir: { medium: 'HugePages' } },
          { name: 'same', emptyDir: { medium: 'HugePages-2Mi' } },
        ],
      }),
    );
    const pod = await node.untilRunning('volume');
    const mounts = node.logsOf(pod, 'app').split('\n');
    assert.equal(mounts.length, 2, mounts.join());
    for (const mount of mounts) assert.match(mount, /hugetlbfs rw.*pagesize=2M/);
    for (const name of ['volume', 'limited']) {
      node.delete(name);
      await node.untilGone(name);
    }
    assert.equal(readFileSync('/proc/self/mounts', 'utf8').includes(`pods/${pod.metadata.uid}`), false);
  });
});
