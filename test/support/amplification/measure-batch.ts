/** Runs one batch of large pods on the shipped kubelet beside a real API server, and measures what it costs. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { conditionOf, type TestClusterNode } from '../cluster/cluster-node.ts';
import { protobufPod } from '../cluster/protobuf-pod.ts';
import type { BatchSample } from './bounds.ts';

export interface LargePod {
  readonly name: string;
  readonly manifest: object;
}

export interface BatchTimes {
  /** How long the pods stay. */
  readonly stayMs: number;
  /** After which the memory must be back: two minutes in the whole test. */
  readonly settleMs: number;
}

const samplePeriodMs = 100;

/** Deletes the pods in the end. Rejects when the API server refuses one of them. */
export async function measureBatch(
  node: TestClusterNode,
  pods: readonly LargePod[],
  { stayMs, settleMs }: BatchTimes,
): Promise<BatchSample> {
  const pid = node.node.kubeletPid;
  const deathsBefore = await threadDeaths(node);
  const rssBeforeBytes = rssBytes(pid);
  const watch = new Watch(node, pid);
  const bodies = pods.map(({ manifest }) => protobufPod(manifest));
  let allDeleted = true;
  let smallPodStartMs = Infinity;
  try {
    for (const body of bodies) await node.api.createProtobuf(node.podsPath, body);
    await sleep(stayMs);
    const startedAtMs = performance.now();
    await node.create('small', { terminationGracePeriodSeconds: 0 });
    await node.untilRunning('small');
    smallPodStartMs = performance.now() - startedAtMs;
  } finally {
    for (const name of [...pods.map((pod) => pod.name), 'small']) {
      await node.delete(name, { gracePeriodSeconds: 1 }).catch(() => {});
      allDeleted &&= await node.untilGone(name).then(
        () => true,
        () => false,
      );
    }
    await sleep(settleMs);
    await watch.close();
  }
  return {
    podBytes: bodies.reduce((sum, { length }) => sum + length, 0),
    sameProcess: node.node.kubeletPid === pid && rssBytes(pid) > 0,
    threadDeaths: (await threadDeaths(node)) - deathsBefore,
    healthzMs: watch.healthzMs,
    smallPodStartMs,
    rssBeforeBytes,
    rssPeakBytes: watch.rssPeakBytes,
    rssAfterBytes: rssBytes(pid),
    stayedReady: watch.stayedReady,
    allDeleted,
  };
}

/** Asks for the health and the memory of the kubelet until it is closed. */
class Watch {
  readonly healthzMs: number[] = [];
  rssPeakBytes = 0;
  stayedReady = true;
  #isClosed = false;
  readonly #done: Promise<void>;

  constructor(node: TestClusterNode, pid: number) {
    this.#done = this.#run(node, pid);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#done;
  }

  async #run(node: TestClusterNode, pid: number): Promise<void> {
    for (let count = 0; !this.#isClosed; count += 1) {
      const startedAtMs = performance.now();
      const isHealthy = await node.node.healthz().then(
        ({ status }) => status === 200,
        () => false,
      );
      this.healthzMs.push(isHealthy ? performance.now() - startedAtMs : Infinity);
      this.rssPeakBytes = Math.max(this.rssPeakBytes, rssBytes(pid));
      if (count % 50 === 0) this.stayedReady &&= await isReady(node);
      await sleep(samplePeriodMs);
    }
  }
}

async function isReady(node: TestClusterNode): Promise<boolean> {
  const { status } = await node.api.get<{ status?: { conditions?: { type: string; status: string }[] } }>(node.nodePath);
  return conditionOf(status, 'Ready') === 'True';
}

/** Returns 0 when the process has ended. */
function rssBytes(pid: number): number {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function threadDeaths(node: TestClusterNode): Promise<number> {
  const metrics = await node.api.text(`${node.nodePath}/proxy/metrics`);
  let sum = 0;
  for (const [, value] of metrics.matchAll(/^kubelet_thread_deaths_total\S* (\d+)$/gm)) sum += Number(value);
  return sum;
}
