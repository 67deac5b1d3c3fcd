/**
 * The node's memory, disks and inodes, used up by one pod beside twenty others: that pod is evicted and no other, and the kubelet continues:
 * its health, its lease, its statuses. The kubelet's folder with the logs and containerd's folder are small file systems of their own, which really fill up.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Guest } from '../../scripts/host/guest/guest.ts';
import type { PodSpec } from '../../src/shared/kubernetes/api.ts';
import { aGuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode } from '../support/guest/guest-node.ts';

const project = join(import.meta.dirname, '../..');
const cluster = await aGuestCluster();
const { kubectl } = cluster;
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
  return cluster.start(guest);
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
  let node: GuestNode;
  before(async () => {
    // Earlier versions let garbage collection remove the image of sandboxes, which no registry has here.
    node = await GuestNode.start({ containerd: '1.7', memory: '4G', share: [cluster.programs], config, prepare });
    await create(
      ...Array.from({ length: bystanders }, (_, index) =>
        onNode(`quiet-${index}`, { sh: 'exec sleep 100000', resources: { requests: { memory: '10Mi', cpu: '1m' } } }),
      ),
    );
    const running = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/10255 && printf "GET /pods HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3' | grep -o '"phase":"Running"' | wc -l; sleep 2`;
    await node.untilPrints(running, String(bystanders), 240_000);
    const background = '>/dev/null 2>&1 &';
    await node.guest.check(`${watchHealth} /run/health ${background}`);
    await node.guest.check(`${kubectl} get lease -n kube-node-lease guest -w -o 'jsonpath={.spec.renewTime}{"\\n"}' > /run/leases 2>&1 &`);
  });
  after(() => node?.destroy());

  async function create(...pods: readonly object[]): Promise<void> {
    await node.guest.write('/srv/pods.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }));
    await node.guest.check(`${kubectl} create -f /srv/pods.json`, { timeoutMs: 120_000 });
  }

  async function untilEvicted(name: string, resource: string): Promise<void> {
    const { status } = await node.until(name, 'is evicted', (pod) => pod.status?.reason === 'Evicted', 120_000);
    assert.equal(status?.phase, 'Failed');
    assert.match(status?.message ?? '', new RegExp(`^The node was low on resource: ${resource}\\.`));
    await assertOthersRun();
  }

  async function readHealth(): Promise<string[]> {
    return (await node.guest.check('cat /run/health')).split('\n');
  }

  async function assertOthersRun(): Promise<void> {
    const pods = (await node.pods()) ?? [];
    const quiet = pods.filter(({ metadata }) => metadata.name.startsWith('quiet-'));
    const disturbed = quiet.filter(
      ({ status }) => status?.phase !== 'Running' || status.containerStatuses?.some(({ restartCount }) => restartCount > 0),
    );
    assert.deepEqual([quiet.length, disturbed.map((pod) => [pod.metadata.name, pod.status])], [bystanders, []]);
  }

  /** Under pressure the node would refuse a pod. */
  async function untilWithoutPressure(): Promise<void> {
    await node.untilPrints(`${kubectl} get node guest -o 'jsonpath={.status.conditions[?(@.status=="True")].type}'`, 'Ready', 180_000);
  }

  async function evicts(name: string, resource: string, pod: object): Promise<void> {
    await untilWithoutPressure();
    await create(pod);
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
    const renewedAtMs = (await node.guest.check('cat /run/leases')).split('\n').map((line) => Date.parse(line));
    const gaps = renewedAtMs.slice(1).map((atMs, index) => (atMs - (renewedAtMs[index] ?? 0)) / 1000);
    assert.ok(gaps.length > 3 && gaps.every((seconds) => seconds < leaseSeconds), gaps.join(' '));
  });

  test('any of these is the only pod that is evicted', async () => {
    const failed = `${kubectl} get pods --no-headers | grep -v Running | cut -d' ' -f1 | sort | xargs echo`;
    await node.untilPrints(failed, 'inodes layer log memory volume');
  });
});
