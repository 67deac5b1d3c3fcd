/** Evictions by the kubelet: limits of local storage, and pressure of memory, of the image filesystem and of process IDs, with what the Node shows. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { EvictionPlan } from '../../../src/shared/contracts/eviction.ts';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import type { Node } from '../../../src/main/node/index.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { importRandomImage } from '../../support/kubelet/random-image.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const mebibyte = 2 ** 20;
/** Two periods of the passes and of the measurements, and as much for a busy host. */
const deadlineMs = 120_000;
const untilStopped = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

function limited(sh: string, fields: Partial<PodSpec> = {}): Partial<PodSpec> {
  return { containers: [aBusybox({ sh: `${sh}; ${untilStopped}`, resources: { limits: { 'ephemeral-storage': '2Mi' } } })], ...fields };
}

/** Prints this many MiB in lines. */
const print = (count: number) => `yes 0123456789012345678901234567890123456789012345678901234567890 | head -c ${count * mebibyte}`;

/** A node whose evictions a test causes. */
class EvictingNode {
  readonly node: TestClusterNode;

  private constructor(node: TestClusterNode) {
    this.node = node;
  }

  static async start(nodeName: string, config: Readonly<Record<string, unknown>>, imageFilesystemBytes?: number): Promise<EvictingNode> {
    return new EvictingNode(
      await TestClusterNode.start(nodeName, { config, ...(imageFilesystemBytes !== undefined && { imageFilesystemBytes }) }),
    );
  }

  async untilEvicted(name: string): Promise<Pod> {
    const pod = await this.node.until(name, 'is evicted', ({ status }) => status?.phase === 'Failed', deadlineMs);
    assert.equal(pod.status?.reason, 'Evicted', JSON.stringify(pod.status));
    return pod;
  }

  async conditions(): Promise<Record<string, string | undefined>> {
    const { status } = await this.node.api.get<Node>(this.node.nodePath);
    return Object.fromEntries(
      (status?.conditions ?? []).map(({ type, status: value, reason, message }) => [type, `${value} ${reason} ${message}`]),
    );
  }

  async untilCondition(type: string, value: string): Promise<void> {
    await waitUntil(`${type} is "${value}"`, async () => (await this.conditions())[type] === value, deadlineMs);
  }

  /** Creates the pod while the node is under pressure. */
  async refusal(name: string, spec: Partial<PodSpec> = {}): Promise<string> {
    await this.node.create(name, spec);
    const { status } = await this.node.untilEnded(name);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'Evicted']);
    return status?.message ?? '';
  }

  async metrics(): Promise<string> {
    return this.node.api.text(`${this.node.nodePath}/proxy/metrics`);
  }

  async plan(): Promise<EvictionPlan> {
    return JSON.parse(await this.node.api.text(`${this.node.nodePath}/proxy/debug/eviction`)) as EvictionPlan;
  }

  /** Whether the pod runs in its first container. */
  async isUntouched(name: string): Promise<boolean> {
    const { status } = await this.node.get(name);
    return status?.phase === 'Running' && status.containerStatuses?.[0]?.restartCount === 0;
  }
}

describe('evictions', { concurrency: 2 }, () => {
  describe('a pod that exceeds a limit of local storage', () => {
    let evicting: EvictingNode;
    before(async () => {
      evicting = await EvictingNode.start('cluster-eviction-limits', { evictionHard: {}, volumeStatsAggPeriod: '1s' });
    });
    after(() => evicting?.node.destroy());

    test('is evicted for an emptyDir, its log, or its writable layer, and no other pod is', async () => {
      const scratch: Partial<PodSpec> = { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '2Mi' } }] };
      const inVolume = (sh: string) => ({
        containers: [aBusybox({ sh: `${sh}; ${untilStopped}`, volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] })],
        ...scratch,
      });
      const pods: { readonly name: string; readonly spec: Partial<PodSpec>; readonly message: string; readonly signal: string }[] = [
        {
          name: 'volume',
          spec: inVolume('head -c 4194304 /dev/zero > /scratch/data'),
          message: 'Usage of EmptyDir volume "scratch" exceeds the limit "2Mi". ',
          signal: 'emptydirfs.limit',
        },
        {
          name: 'log',
          spec: limited(print(4)),
          message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
          signal: 'ephemeralpodfs.limit',
        },
        {
          name: 'layer',
          spec: limited('head -c 4194304 /dev/zero > /data'),
          message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
          signal: 'ephemeralpodfs.limit',
        },
        {
          name: 'container',
          spec: {
            containers: [
              ...limited(print(4)).containers!,
              aBusybox({ name: 'other', resources: { limits: { 'ephemeral-storage': '100Mi' } } }),
            ],
          },
          message: 'Container app exceeded its local ephemeral storage limit "2Mi". ',
          signal: 'ephemeralcontainerfs.limit',
        },
      ];
      const within = inVolume('head -c 1048576 /dev/zero > /scratch/data; head -c 1048576 /dev/zero > /data');
      await evicting.node.create('within', within);
      await Promise.all(pods.map(({ name, spec }) => evicting.node.create(name, spec)));
      for (const { name, message } of pods) {
        const { status } = await evicting.untilEvicted(name);
        assert.equal(status?.message, message);
        assert.equal(conditionOf(status, 'DisruptionTarget'), undefined, 'the pod is at fault');
        const { type } = await evicting.node.untilEvent(name, 'Evicted', /exceed/);
        assert.equal(type, 'Warning');
      }
      assert.equal(await evicting.isUntouched('within'), true);
      const metrics = await evicting.metrics();
      for (const { signal } of pods) assert.match(metrics, new RegExp(`^kubelet_evictions\\{eviction_signal="${signal}"\\} [1-9]`, 'm'));
      assert.match((await evicting.conditions())['DiskPressure']!, /^False KubeletHasNoDiskPressure/);
    });
  });

  describe('under memory pressure', () => {
    let evicting: EvictingNode;
    before(async () => {
      const [, kibibytes] = /^MemTotal:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
      // All pods together may use 500 MiB: what other programs of the host use does not matter.
      evicting = await EvictingNode.start('cluster-eviction-memory', {
        kubeReserved: { memory: `${Number(kibibytes) - 500 * 1024}Ki` },
        enforceNodeAllocatable: ['pods'],
        evictionHard: { 'memory.available': '200Mi' },
        evictionPressureTransitionPeriod: '20s',
      });
    });
    after(() => evicting?.node.destroy());

    const using = (megabytes: number, request: string): Partial<PodSpec> => ({
      containers: [
        aBusybox({
          sh: `head -c ${megabytes * mebibyte} /dev/zero > /memory/data; ${untilStopped}`,
          volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
          resources: { requests: { memory: request } },
        }),
      ],
      volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
    });

    test('the pod above its request is evicted, pods without requests are refused, and the node recovers', async () => {
      const { node } = evicting;
      await node.create('within-request', using(60, '100Mi'));
      await node.create('idle', { containers: [aBusybox()] });
      await Promise.all(['within-request', 'idle'].map((name) => node.untilRunning(name)));
      await node.create('above-request', using(330, '20Mi'));
      await evicting.untilCondition('MemoryPressure', 'True KubeletHasInsufficientMemory kubelet has insufficient memory available');
      assert.equal(
        await evicting.refusal('refused', { containers: [aBusybox()] }),
        'Pod was rejected: The node had condition: [MemoryPressure]. ',
      );
      await node.create('tolerant', {
        tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }],
      });

      const { status } = await evicting.untilEvicted('above-request');
      const message =
        /^The node was low on resource: memory\. Threshold quantity: 200Mi, available: \d+Ki\. Container app was using \d+Ki, request is 20Mi, has larger consumption of memory\. $/;
      assert.match(status?.message ?? '', message);
      const disruption = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
      assert.deepEqual([disruption?.status, disruption?.reason, disruption?.message], ['True', 'TerminationByKubelet', status?.message]);
      const event = (await node.untilEvent('above-request', 'Evicted', message)) as {
        readonly metadata?: { readonly annotations?: Record<string, string> };
      };
      const { offending_containers, offending_containers_usage, starved_resource } = event.metadata?.annotations ?? {};
      assert.deepEqual([offending_containers, starved_resource], ['app', 'memory']);
      assert.match(offending_containers_usage ?? '', /^\d+Ki$/);
      await node.untilEvent(node.nodeName, 'EvictionThresholdMet', /^Attempting to reclaim memory$/, 'default');
      await node.untilEvent(node.nodeName, 'NodeHasInsufficientMemory', /./, 'default');

      await evicting.untilCondition('MemoryPressure', 'False KubeletHasSufficientMemory kubelet has sufficient memory available');
      await node.create('welcome', { containers: [aBusybox()] });
      await Promise.all(['welcome', 'tolerant'].map((name) => node.untilRunning(name)));
      for (const name of ['within-request', 'idle']) assert.equal(await evicting.isUntouched(name), true, name);
      const metrics = await evicting.metrics();
      assert.match(metrics, /^kubelet_evictions\{eviction_signal="allocatableMemory.available"\} 1$/m);
      assert.match(metrics, /^kubelet_eviction_stats_age_seconds_count\{eviction_signal="allocatableMemory.available"\} 1$/m);
      assert.match(metrics, /^kubelet_admission_rejections_total\{reason="Evicted"\} 1$/m);
    });
  });

  describe('with a full image filesystem', () => {
    let evicting: EvictingNode;
    const image = 'random.example/unused:1';
    const debugImages = () => evicting.node.api.text(`${evicting.node.nodePath}/proxy/debug/image-gc`);
    const images = async () =>
      (await evicting.node.node.cri.images.call('listImages', {}, { deadlineMs: 10_000 })).images.flatMap(({ repoTags }) => repoTags);

    before(async () => {
      const size = 120 * mebibyte;
      const config = {
        evictionHard: { 'imagefs.available': '40%' },
        evictionPressureTransitionPeriod: '10s',
        imageMinimumGCAge: '1ms',
        imageGCHighThresholdPercent: 100,
      };
      evicting = await EvictingNode.start('cluster-eviction-disk', config, size);
    });
    after(() => evicting?.node.destroy());

    test('unused images go first, then the pod that fills it; all pods are refused meanwhile', async () => {
      const { node } = evicting;
      await node.create('idle', { containers: [aBusybox()] });
      await node.untilRunning('idle');
      // On disk an image takes its layer twice: as content and unpacked.
      importRandomImage(node.node, image, 20 * mebibyte);
      // An image is old enough to go only after the kubelet has seen it.
      await waitUntil('the image is known', async () => (await debugImages()).includes(image), deadlineMs);
      importRandomImage(node.node, 'random.example/newer:1', 16 * mebibyte);
      await waitUntil('the unused image is removed', async () => !(await images()).includes(image), deadlineMs);
      await node.untilEvent(node.nodeName, 'EvictionThresholdMet', /^Attempting to reclaim ephemeral-storage$/, 'default');
      await evicting.untilCondition('DiskPressure', 'False KubeletHasNoDiskPressure kubelet has no disk pressure');
      assert.equal(await evicting.isUntouched('idle'), true);

      await node.create('writer', { containers: [aBusybox({ sh: `head -c ${80 * mebibyte} /dev/zero > /data; ${untilStopped}` })] });
      await evicting.untilCondition('DiskPressure', 'True KubeletHasDiskPressure kubelet has disk pressure');
      const requests = { resources: { requests: { memory: '1Mi' } } };
      assert.equal(
        await evicting.refusal('refused', { containers: [aBusybox(requests)] }),
        'Pod was rejected: The node had condition: [DiskPressure]. ',
      );
      const { status } = await evicting.untilEvicted('writer');
      assert.match(
        status?.message ?? '',
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+(Mi|Ki|), available: \d+(Mi|Ki|)\. /,
      );
      await evicting.untilCondition('DiskPressure', 'False KubeletHasNoDiskPressure kubelet has no disk pressure');
      assert.equal(await evicting.isUntouched('idle'), true);
      assert.match(await evicting.metrics(), /^kubelet_evictions\{eviction_signal="imagefs.available"\} 1$/m);
    });
  });

  describe('under pressure that no eviction ends', () => {
    let evicting: EvictingNode;
    before(async () => {
      // More than a node can have free.
      evicting = await EvictingNode.start('cluster-eviction-pids', {
        evictionSoft: { 'pid.available': '99.9999%' },
        evictionSoftGracePeriod: { 'pid.available': '15s' },
        evictionHard: {},
        evictionMaxPodGracePeriod: 3,
      });
    });
    after(() => evicting?.node.destroy());

    test('every pod but a critical one is refused at once, and none is ended before the soft grace period', async () => {
      const { node } = evicting;
      await evicting.untilCondition('PIDPressure', 'True KubeletHasInsufficientPID kubelet has insufficient PID available');
      assert.match(await evicting.refusal('refused'), /^Pod was rejected: The node had condition: \[PIDPressure\]\. $/);
      await node.create('critical', { priorityClassName: 'system-node-critical' });
      await node.untilRunning('critical');
      const { signals, thresholds, ranking } = await evicting.plan();
      assert.equal(
        signals.some(({ signal, available }) => signal === 'pid.available' && available > 0),
        true,
      );
      assert.deepEqual(
        thresholds.map(({ kind, value, met }) => [kind, value, met]),
        [['soft', '99.9999%', true]],
      );
      assert.deepEqual(
        ranking.pods.map(({ name, notEvictableBecause }) => [name, notEvictableBecause]),
        [['critical', 'critical priority']],
      );
      await waitUntil('the threshold is due', async () => (await evicting.plan()).action !== null, deadlineMs);
      await node.untilEvent(node.nodeName, 'EvictionThresholdMet', /^Attempting to reclaim pids$/, 'default');
      assert.equal(await evicting.isUntouched('critical'), true);
    });
  });
});
