/**
 * The node's memory, disks and inodes, used up by one pod beside twenty others: that pod is evicted and no other, and the kubelet continues:
 * its health, its lease, its statuses. The kubelet's folder with the logs and containerd's folder are small file systems of their own, which really fill up.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Guest } from '../../lab/guest/guest.ts';
import type { PodSpec } from '../../src/shared/kubernetes/api.ts';
import { GuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { isRunning } from '../support/cluster/pod-watch.ts';

const project = join(import.meta.dirname, '../..');
const watchHealth = `bash ${project}/test/support/guest/watch-health.sh`;
const bystanders = 20;
/** The lease is valid for this long; after that the node's pods would be evicted by the cluster. */
const leaseSeconds = 40;

const config = {
  evictionHard: {
    'memory.available': '600Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '10%',
    'imagefs.available': '10%',
  },
  evictionPressureTransitionPeriod: '1s',
  podLogsDir: '/var/lib/kubelet/pod-logs',
  containerLogMaxSize: '1Gi',
};

async function prepare(guest: Guest) {
  await guest.check(`
    disk() { truncate -s "$2" /srv/$1.img && mkfs.ext4 -q -F $3 /srv/$1.img && mkdir -p /var/lib/$1 && mount -o loop /srv/$1.img /var/lib/$1; }
    disk kubelet 64M '-N 6000' && disk containerd 200M`);
}

const data: Partial<PodSpec> = { volumes: [{ name: 'data', emptyDir: {} }] };
const volumeMounts = [{ name: 'data', mountPath: '/data' }];

/** Each request was answered. On a busy host a thread of the guest may stand still for ten seconds, which fails an answer, but never two in a row. */
function assertHealthy(answers: readonly string[]): void {
  const isFailure = (line = '') => !line.endsWith(' 200 OK');
  const faults = answers.filter((line, index) => line.endsWith('no connection') || (isFailure(line) && isFailure(answers[index + 1])));
  assert.ok(answers.length > 10, answers.join());
  assert.deepEqual(faults, []);
}

const stay = 'sleep 100000';

describe('a pod that uses up', () => {
  let cluster: GuestCluster;
  let node: GuestNode;
  /** When the node's lease was renewed. */
  const renewedAtMs: number[] = [];
  const stopped = new AbortController();
  before(async () => {
    cluster = await GuestCluster.start();
    // Earlier versions let garbage collection remove the image of sandboxes, which no registry has here.
    node = await GuestNode.start({
      containerd: '1.7',
      memory: '3G',
      share: [cluster.folder],
      config,
      prepare: (guest) => prepare(guest).then(() => cluster.member()),
    });
    await cluster.create(
      ...Array.from({ length: bystanders }, (_, index) =>
        // In the host's network pods start in a third of the time.
        onNode(
          `quiet-${index}`,
          { sh: 'exec sleep 100000', resources: { requests: { memory: '10Mi', cpu: '1m' } } },
          { hostNetwork: true },
        ),
      ),
    );
    await cluster.pods.untilAll('the other pods run', (pods) => pods.filter(isRunning).length === bystanders, 240_000);
    await node.guest.check(`${watchHealth} /run/health >/dev/null 2>&1 &`);
    void watchLease();
  });
  after(async () => {
    stopped.abort();
    await node?.destroy();
    await cluster?.destroy();
  });

  async function watchLease(): Promise<void> {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    for await (const { object } of cluster.api.watch<{ spec: { renewTime: string } }>(leases, stopped.signal)) {
      renewedAtMs.push(Date.parse(object.spec.renewTime));
    }
  }

  async function untilEvicted(name: string, resource: string): Promise<void> {
    const { status } = await cluster.pods.until(name, 'is evicted', (pod) => pod.status?.reason === 'Evicted', 120_000);
    assert.equal(status?.phase, 'Failed');
    assert.match(status?.message ?? '', new RegExp(`^The node was low on resource: ${resource}\\.`));
    assertOthersRun();
  }

  async function readHealth(): Promise<string[]> {
    return (await node.guest.check('cat /run/health')).split('\n');
  }

  function assertOthersRun(): void {
    const quiet = cluster.pods.all().filter(({ metadata }) => metadata.name.startsWith('quiet-'));
    const disturbed = quiet.filter(
      ({ status }) => status?.phase !== 'Running' || status.containerStatuses?.some(({ restartCount }) => restartCount > 0),
    );
    assert.deepEqual([quiet.length, disturbed.map((pod) => [pod.metadata.name, pod.status])], [bystanders, []]);
  }

  async function evicts(name: string, resource: string, pod: object): Promise<void> {
    // Under pressure the node would refuse the pod.
    await cluster.untilConditions('Ready');
    await cluster.create(pod);
    await untilEvicted(name, resource);
  }

  test('the memory is evicted', () => {
    // Of all that is available, 400 MB are left.
    const sh = `a=$(awk '/MemAvailable/ {print int($2 / 2048) - 200}' /proc/meminfo); for i in 1 2; do dd if=/dev/zero bs=\${a}M count=1 | ${stay} & done; wait`;
    return evicts('memory', 'memory', onNode('memory', { sh }));
  });

  test('the disk through its emptyDir is evicted', () =>
    evicts('volume', 'ephemeral-storage', onNode('volume', { sh: `dd if=/dev/zero of=/data/file bs=1M; ${stay}`, volumeMounts }, data)));

  test('the disk through its log is evicted', () =>
    evicts('log', 'ephemeral-storage', onNode('log', { sh: 'yes "$(head -c 15000 /dev/zero | tr "\\0" x)"' })));

  test('the disk of the images through its root filesystem is evicted', () =>
    evicts('layer', 'ephemeral-storage', onNode('layer', { sh: `dd if=/dev/zero of=/file bs=1M; ${stay}` })));

  test('the inodes is evicted', () =>
    evicts('inodes', 'inodes', onNode('inodes', { sh: `i=0; while true > /data/$i; do i=$((i + 1)); done; ${stay}`, volumeMounts }, data)));

  test('any of these disturbs neither /healthz nor the lease', async () => {
    assertHealthy(await readHealth());
    const gaps = renewedAtMs.slice(1).map((atMs, index) => (atMs - (renewedAtMs[index] ?? 0)) / 1000);
    assert.ok(gaps.length > 3 && gaps.every((seconds) => seconds < leaseSeconds), gaps.join(' '));
  });

  test('any of these is the only pod that is evicted', () => {
    assertOthersRun();
    const ended = cluster.pods.all().filter(({ status }) => status?.phase !== 'Running');
    assert.deepEqual(ended.map(({ metadata }) => metadata.name).toSorted(), ['inodes', 'layer', 'log', 'memory', 'volume']);
  });
});
