/**
 * A bare node: answers a pod of the API server with the calls that no kubelet can leave out, and nothing else: its token while the sandbox
 * is made, the three calls to the runtime, one status. What a watch sees of it is the floor of what it can see of a kubelet.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { BenchCluster } from '../harness/cluster.ts';
import { hostCpuSeconds } from '../harness/host-cpu.ts';
import type { StartedPod } from './cri-driver.ts';
import { forEachConcurrently } from './lanes.ts';

/** Nobody of that name is registered. */
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

  /** Makes a pod, runs it, and takes it away again. Answers with the ms from the request that made it until a watch saw it run. */
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

  /** The same of many made at once, of which it starts so many at a time: ms, and CPU time of the whole host, until a watch saw the last run. */
  async startPods(names: readonly string[], parallelism: number): Promise<{ readonly ms: number; readonly cpuSeconds: number }> {
    const { pods, driver } = this.#cluster;
    const [began, cpuBefore] = [monotonicMs(), hostCpuSeconds()];
    const made = await Promise.all(names.map((name) => this.#cluster.createPod(name, nodeName)));
    await forEachConcurrently(made, parallelism, async (pod) => void (await this.#run(pod.metadata.name, pod)));
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
