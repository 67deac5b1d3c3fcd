/**
 * A minimal node: for each pod it only makes the requests that every kubelet must make, which are a token request (concurrently with the
 * sandbox), the three runtime calls and one status patch. Its times, seen by a watch, are the floor for a kubelet's.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { BenchCluster } from '../harness/cluster.ts';
import { hostCpuSeconds } from '../harness/host-cpu.ts';
import type { StartedPod } from './cri-driver.ts';
import { forEachConcurrently } from './for-each-concurrently.ts';

/** No Node of this name is registered. */
const nodeName = 'bare';
const timeoutMs = 60_000;
const burstTimeoutMs = 180_000;
const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount';

export class BareNode {
  readonly #cluster: BenchCluster;
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-bare-'));

  constructor(cluster: BenchCluster) {
    this.#cluster = cluster;
  }

  /** Creates a pod, runs it and deletes it. Returns the ms from the create request until a watch saw it Running. */
  async startPod(name: string): Promise<number> {
    const { pods, driver } = this.#cluster;
    const began = monotonicMs();
    const [pod] = await Promise.all([this.#cluster.createPod(name, nodeName), pods.waitUntil('added', [name], timeoutMs)]);
    const started = await this.#run(name, pod);
    const [runningMs = NaN] = await pods.waitUntil('running', [name], timeoutMs);
    await driver.stopPod(started);
    await this.#cluster.deletePod(name, { gracePeriodSeconds: 0 });
    await pods.waitUntil('gone', [name], timeoutMs);
    return runningMs - began;
  }

  /**
   * Creates many pods at once and starts `parallelism` of them concurrently. Returns the ms, and the CPU time of the whole host, until a
   * watch saw the last one Running.
   */
  async startPods(names: readonly string[], parallelism: number): Promise<{ readonly ms: number; readonly cpuSeconds: number }> {
    const { pods, driver } = this.#cluster;
    const [began, cpuBefore] = [monotonicMs(), hostCpuSeconds()];
    const created = await Promise.all(names.map((name) => this.#cluster.createPod(name, nodeName)));
    await forEachConcurrently(created, parallelism, async (pod) => void (await this.#run(pod.metadata.name, pod)));
    const ms = Math.max(...(await pods.waitUntil('running', names, burstTimeoutMs))) - began;
    const cpuSeconds = hostCpuSeconds() - cpuBefore;
    await driver.removeAll();
    await Promise.all(names.map((name) => this.#cluster.deletePod(name, { gracePeriodSeconds: 0 })));
    await pods.waitUntil('gone', names, burstTimeoutMs);
    return { ms, cpuSeconds };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #run(name: string, pod: Pod): Promise<StartedPod> {
    const started = await this.#cluster.driver.startPod(name, this.#tokenVolume(pod));
    await this.#cluster.patchStatus(pod, runningStatus(started));
    return started;
  }

  async #tokenVolume(pod: Pod) {
    const hostPath = join(this.#folder, pod.metadata.uid);
    mkdirSync(hostPath);
    writeFileSync(join(hostPath, 'token'), await this.#cluster.podToken(pod));
    return [{ hostPath, containerPath: tokenPath }];
  }
}

function runningStatus({ containerID, name }: StartedPod): object {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const conditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: now,
  }));
  const state = { running: { startedAt: now } };
  const common = { restartCount: 0, image: name, imageID: name, ready: true, started: true };
  return {
    phase: 'Running',
    startTime: now,
    conditions,
    containerStatuses: [{ name: 'app', containerID: `containerd://${containerID}`, state, ...common }],
  };
}
