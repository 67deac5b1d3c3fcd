/** The disk usage of pods, measured in folders like those of a node, by real helper processes. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, afterEach, suite, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { createStorageTable, StorageReader } from '../../../src/shared/state/storage-table.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { StorageSampler, type StorageSamplerOptions } from '../../../src/workers/stats/storage/storage-sampler.ts';
import { aLogger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) execFileSync('rm', ['-rf', folder]);
});

const runningItem = {
  state: 'running',
  attempt: 0,
  createdAtMs: 1,
  sandboxID: 's1' as SandboxID,
  image: '',
  podUID: 'web' as PodUID,
  podName: 'web',
  podNamespace: 'default',
} as const;

/** A node with the pods `web`, with a running container, and `idle`, with none. */
class Node {
  readonly folder = mkdtempSync(join(tmpdir(), 'storage-'));
  readonly rootDir = join(this.folder, 'kubelet');
  readonly podLogsDir = join(this.folder, 'logs');
  readonly layer = join(this.folder, 'layer');
  readonly mountTable = join(this.folder, 'mountinfo');
  readonly #stop = new AbortController();
  readonly #snapshot = createRuntimeSnapshot(10);
  readonly #storage = createStorageTable(10);
  readonly reader = new StorageReader(this.#storage);
  readonly runtime = new RuntimeSnapshotWriter(this.#snapshot);
  readonly lines;
  readonly processes = new Map<string, number>();
  readonly #sampler: StorageSampler;
  #running: Promise<void> | undefined;

  constructor(options: Partial<Pick<StorageSamplerOptions, 'volumeStatsPeriodMs' | 'hangMs' | 'askDriver'>> = {}) {
    folders.push(this.folder);
    for (const folder of [this.rootDir, this.podLogsDir, this.layer]) mkdirSync(folder);
    this.setMounts([]);
    const { logger, lines } = aLogger();
    this.lines = lines;
    this.#sampler = new StorageSampler({
      rootDir: this.rootDir,
      podLogsDir: this.podLogsDir,
      storage: this.#storage,
      snapshot: this.#snapshot,
      volumeStatsPeriodMs: 100,
      askDriver: async () => ({ outcome: 'absent' }),
      processOf: (id) => this.processes.get(id),
      listRuntimeLayers: async () => new Map([['c2', { usedBytes: 7, inodesUsed: 1 }]]),
      mountTable: this.mountTable,
      periodMs: 100,
      clock: systemClock,
      logger,
      ...options,
    });
  }

  /** The mount table: the container's overlay, and these. */
  setMounts(lines: readonly string[]): void {
    const overlay = `90 1 0:70 / /run/task/c1/rootfs rw - overlay overlay rw,lowerdir=/l,upperdir=${this.layer},workdir=/w`;
    writeFileSync(this.mountTable, [overlay, ...lines, ''].join('\n'));
  }

  volume(podUID: string, plugin: string, name: string): string {
    const path = join(this.rootDir, 'pods', podUID, 'volumes', plugin, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  runPod(): void {
    this.runtime.add({ ...runningItem, kind: 'sandbox', id: 's1' as SandboxID, containerName: '' });
    this.runContainer('c1', 'app');
  }

  runContainer(id: string, containerName: string): void {
    this.runtime.add({ ...runningItem, kind: 'container', id: id as ContainerID, containerName });
  }

  start(): void {
    this.#running = this.#sampler.run(this.#stop.signal);
  }

  pod(uid = 'web') {
    return this.reader.pod(uid as PodUID);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#sampler.close();
    await this.#running;
  }
}

const emptyDir = 'kubernetes.io~empty-dir';
let node: Node | undefined;
afterEach(() => node?.stop());

/** The helper processes of this process. */
function helpers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/status`, 'utf8').includes(`PPid:\t${process.pid}\n`) &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('kube-helper')
        );
      } catch {
        return false;
      }
    });
}

suite('the disk usage of pods', () => {
  test('has volumes, writable layers, logs and the hosts file', async () => {
    node = new Node();
    writeFileSync(join(node.volume('web', emptyDir, 'data'), 'file'), Buffer.alloc(1_000_000, 'x'));
    node.volume('web', emptyDir, 'memory');
    node.volume('web', 'kubernetes.io~host-path', 'host');
    node.volume('web', 'kubernetes.io~csi', 'unmounted');
    node.volume('idle', 'kubernetes.io~configmap', 'config');
    writeFileSync(join(node.rootDir, 'pods/web/etc-hosts'), '127.0.0.1 localhost');
    symlinkSync('/usr', join(node.layer, 'usr'));
    writeFileSync(join(node.layer, 'file'), Buffer.alloc(500_000, 'x'));
    const logs = join(node.podLogsDir, 'default_web_web');
    mkdirSync(join(logs, 'app'), { recursive: true });
    writeFileSync(join(logs, 'agent.log'), Buffer.alloc(100_000, 'x'));
    const device = join(node.rootDir, 'pods/web/volumes', emptyDir, 'memory');
    node.setMounts([`91 1 0:71 / ${device} rw - tmpfs tmpfs rw`]);
    node.runPod();
    node.start();
    await waitUntil(
      'everything is measured',
      () => node!.pod().containers.size === 1 && node!.pod().volumes.size === 2 && node!.pod('idle').volumes.size === 1,
    );
    const { containers, volumes, podLogs, etcHosts } = node.pod();
    const [app, data, memory] = [containers.get('app')!, volumes.get('data')!, volumes.get('memory')!];
    assert.deepEqual([app.containerID, app.inodesUsed, app.isLowerBound], ['c1', 3, false]);
    assert.ok(app.usedBytes >= 500_000 && app.usedBytes < 600_000, String(app.usedBytes));
    assert.ok(data.usedBytes >= 1_000_000 && data.usedBytes < 1_100_000 && data.inodesUsed === 2, String(data.usedBytes));
    assert.ok(data.capacityBytes >= data.availableBytes && data.inodes >= data.inodesFree);
    assert.deepEqual([data.isMountPoint, memory.isMountPoint, memory.plugin], [false, true, emptyDir]);
    assert.ok(memory.capacityBytes > 0);
    assert.ok(podLogs!.usedBytes >= 100_000 && podLogs!.inodesUsed === 1);
    assert.deepEqual([etcHosts!.inodesUsed, etcHosts!.usedBytes > 0], [1, true]);
  });

  test('has the writable layer that only the runtime knows', async () => {
    node = new Node();
    node.runPod();
    node.runContainer('c2', 'other');
    node.runContainer('c3', 'unknown');
    node.start();
    await waitUntil('both layers are measured', () => node!.pod().containers.size === 2);
    assert.deepEqual([node.pod().containers.get('other')!.usedBytes, node.pod().containers.get('app')!.inodesUsed], [7, 1]);
  });

  test('finds the writable layer of a container whose root file system has another name', async () => {
    node = new Node();
    const { folder } = node;
    const [lower, work, merged] = [join(folder, 'lower'), join(folder, 'layers'), join(folder, 'merged')];
    for (const path of [lower, work, merged]) mkdirSync(path);
    // Not on an overlay, which can't be the upper folder of another one.
    execFileSync('mount', ['-t', 'tmpfs', 'layers', work]);
    for (const name of ['upper', 'work']) mkdirSync(join(work, name));
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=${lower},upperdir=${work}/upper,workdir=${work}/work`, merged]);
    let container: ChildProcess | undefined;
    try {
      copyFileSync('/bin/busybox', join(merged, 'busybox'));
      container = spawn('chroot', [merged, '/busybox', 'sleep', '1000']);
      const { pid } = container;
      await waitUntil('the process has its root', () => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(' / / '));
      node.processes.set('c2', pid!);
      node.runPod();
      node.runContainer('c2', 'other');
      node.setMounts(
        readFileSync('/proc/self/mountinfo', 'utf8')
          .split('\n')
          .filter((line) => line.includes(` ${merged} `)),
      );
      node.start();
      await waitUntil('the layer is measured', () => node!.pod().containers.get('other')?.inodesUsed === 2);
      assert.ok(node.pod().containers.get('other')!.usedBytes > 100_000);
    } finally {
      container?.kill('SIGKILL');
      await (container && once(container, 'exit'));
      execFileSync('umount', ['--lazy', merged]);
      execFileSync('umount', ['--lazy', work]);
    }
  });

  test('asks the runtime for a writable layer that is mounted, but not visible here', async () => {
    node = new Node();
    node.runPod();
    node.runContainer('c2', 'other');
    node.setMounts(['92 1 0:72 / /run/task/c2/rootfs rw - overlay overlay rw,upperdir=/nowhere/fs,workdir=/w']);
    node.start();
    await waitUntil('the layer is known', () => node!.pod().containers.get('other')?.usedBytes === 7);
  });

  test('follows what pods write, and forgets pods that are gone', async () => {
    node = new Node();
    const data = node.volume('web', emptyDir, 'data');
    node.runPod();
    node.start();
    await waitUntil('the volume is empty', () => node!.pod().volumes.get('data')?.inodesUsed === 1);
    writeFileSync(join(data, 'file'), 'x');
    await waitUntil('the volume has a file', () => node!.pod().volumes.get('data')?.inodesUsed === 2);
    execFileSync('rm', ['-r', join(node.rootDir, 'pods/web')]);
    await waitUntil('the volume is gone', () => node!.pod().volumes.size === 0);
    assert.equal(node.pod().containers.size, 1);
  });

  test('has what the driver of a CSI volume says, and until then what statfs says', async () => {
    const answer = Promise.withResolvers<void>();
    const usage = { capacityBytes: 2 ** 40, availableBytes: 2 ** 40, usedBytes: 3, inodes: 0, inodesFree: 0, inodesUsed: 0 };
    const asked = new Set<string>();
    node = new Node({
      askDriver: async ({ podUID, specName }) => {
        asked.add(`${podUID}/${specName}`);
        await answer.promise;
        return { outcome: 'measured', usage };
      },
    });
    const path = join(node.volume('web', 'kubernetes.io~csi', 'pv1'), 'mount');
    node.setMounts([`91 1 0:71 / ${path} rw - tmpfs tmpfs rw`]);
    mkdirSync(path);
    node.runPod();
    node.start();
    const used = await waitUntil('statfs measures the volume', () => node!.pod().volumes.get('pv1')?.capacityBytes);
    assert.ok(used < usage.capacityBytes);
    answer.resolve();
    await waitUntil('the driver measures the volume', () => node!.pod().volumes.get('pv1')?.usedBytes === 3);
    await sleep(300);
    assert.deepEqual([node.pod().volumes.get('pv1')?.capacityBytes, ...asked], [usage.capacityBytes, 'web/pv1']);
  });

  test('has no volumes when the period disables them', async () => {
    node = new Node({ volumeStatsPeriodMs: -1 });
    node.volume('web', emptyDir, 'data');
    node.runPod();
    node.start();
    await waitUntil('the layer is measured', () => node!.pod().containers.size === 1);
    assert.equal(node.pod().volumes.size, 0);
  });

  test('walks trees on the node’s own disk without a helper process', async () => {
    node = new Node();
    node.setMounts(['1 0 8:1 / / rw - ext4 /dev/sda1 rw']);
    const data = node.volume('web', emptyDir, 'data');
    node.runPod();
    const before = helpers();
    node.start();
    await waitUntil('the volume is measured', () => node!.pod().volumes.get('data')?.inodesUsed === 1);
    writeFileSync(join(data, 'file'), 'x');
    await waitUntil('it is measured again', () => node!.pod().volumes.get('data')?.inodesUsed === 2);
    assert.equal(node.pod().containers.size, 1);
    assert.deepEqual(helpers(), before);
  });

  test('continues after the helper process hangs or dies', async () => {
    // Includes the start of a process. A second hang of the same tree would delay its measurement for 30 s.
    node = new Node({ hangMs: 5000 });
    const data = node.volume('web', emptyDir, 'data');
    node.runPod();
    node.start();
    await waitUntil('the volume is measured', () => node!.pod().volumes.get('data')?.inodesUsed === 1);
    const before = helpers();
    assert.equal(before.length, 1);
    process.kill(before[0]!, 'SIGSTOP');
    writeFileSync(join(data, 'file'), 'x');
    await waitUntil('another process measures the volume', () => node!.pod().volumes.get('data')?.inodesUsed === 2);
    const [second] = helpers().filter((pid) => !before.includes(pid));
    process.kill(second!, 'SIGKILL');
    writeFileSync(join(data, 'other'), 'x');
    await waitUntil('a third process measures the volume', () => node!.pod().volumes.get('data')?.inodesUsed === 3);
  });
});
