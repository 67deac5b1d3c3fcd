/** Runs one batch of large pods on the shipped kubelet beside a real API server, and measures what it costs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { conditionOf, type TestClusterNode } from '../cluster/cluster-node.ts';
import { protobufPod } from '../cluster/protobuf-pod.ts';
import { allowedKeptBytes, type BatchSample } from './bounds.ts';
import { watchSyncThreads } from './sync-threads.ts';
import { cpuSeconds, ProcessWatch, rssBytes } from './process-watch.ts';

export interface LargePod {
  readonly name: string;
  readonly manifest: object;
}

export interface BatchTimes {
  /** How long the pods stay beside the small one. */
  readonly stayMs: number;
  /** After which the memory must be back. */
  readonly settleMs: number;
}

export const wholeTimes: BatchTimes = { stayMs: 8_000, settleMs: 120_000 };
/** For enough requests of its health. */
const controlMs = 2_000;
const goneMs = 90_000;
const readyPeriodMs = 5_000;

/** Deletes the pods in the end. */
export async function measureBatch(
  node: TestClusterNode,
  pods: readonly LargePod[],
  { stayMs, settleMs }: BatchTimes = wholeTimes,
): Promise<BatchSample> {
  const pid = node.node.kubeletPid;
  const deathsBefore = await threadDeaths(node);
  const before = await measureBefore(node);
  const rssBeforeBytes = rssBytes(pid);
  const cpuBefore = cpuSeconds(pid);
  const watch = startWatch(node);
  const ready = watchReady(node);
  const syncThreads = watchSyncThreads(() => node.api.text(`${node.nodePath}/proxy/metrics`));
  const bodies = pods.map(({ manifest }) => protobufPod(manifest));
  const smallPodStartMs: number[] = [];
  let allDeleted: boolean;
  let podBytes = 0;
  try {
    // The API server may take longer for a pod than the client waits.
    for (const body of bodies)
      podBytes += await node.api.createProtobuf(node.podsPath, body).catch((err: unknown) => {
        console.log(String(err).slice(0, 200));
        return 0;
      });
    smallPodStartMs.push(await smallPod(node, 'small-during'));
    await sleep(stayMs);
  } finally {
    allDeleted = await deleteAll(node, [...pods.map(({ name }) => name), 'small-during']);
  }
  smallPodStartMs.push(await smallPod(node, 'small-after'));
  allDeleted &&= await deleteAll(node, ['small-after']);
  for (let waitedMs = 0; waitedMs < settleMs && rssBytes(pid) - rssBeforeBytes > allowedKeptBytes; waitedMs += 500) await sleep(500);
  const { healthzMs, unhealthy, rssPeakBytes } = await watch.close();
  return {
    pods: pods.length,
    podBytes,
    sameProcess: node.node.kubeletPid === pid && rssBytes(pid) > 0,
    threadDeaths: (await threadDeaths(node)) - deathsBefore,
    healthzMs,
    unhealthy,
    smallPodStartMs,
    before,
    rssBeforeBytes,
    rssPeakBytes,
    rssAfterBytes: rssBytes(pid),
    syncThreadBytes: await syncThreads(),
    cpuSeconds: cpuSeconds(pid) - cpuBefore,
    stayedReady: await ready(),
    allDeleted,
  };
}

function startWatch({ node }: TestClusterNode): ProcessWatch {
  return new ProcessWatch({ pid: node.kubeletPid, healthzURL: node.healthzURL });
}

async function measureBefore(node: TestClusterNode): Promise<BatchSample['before']> {
  const watch = startWatch(node);
  const smallPodStartMs = await smallPod(node, 'small-before');
  await deleteAll(node, ['small-before']);
  await sleep(controlMs);
  return { healthzMs: (await watch.close()).healthzMs, smallPodStartMs };
}

/** Returns milliseconds until a new pod runs; Infinity when it does not. */
export async function smallPod(node: TestClusterNode, name: string): Promise<number> {
  const startedAtMs = performance.now();
  await node.create(name, { terminationGracePeriodSeconds: 0 });
  return node.untilRunning(name).then(
    () => performance.now() - startedAtMs,
    () => Infinity,
  );
}

/** Returns whether all are gone within the deadline. */
async function deleteAll(node: TestClusterNode, names: readonly string[]): Promise<boolean> {
  for (const name of names) await node.api.remove(`${node.podsPath}/${name}`, { gracePeriodSeconds: 1 }).catch(() => {});
  const untilMs = performance.now() + goneMs;
  while (performance.now() < untilMs) {
    const left = await node.api.names(node.podsPath);
    if (!left.some((name) => names.includes(name))) return true;
    await sleep(200);
  }
  return false;
}

/** Returns a function that ends the watch, and resolves with whether the node was always Ready. */
function watchReady(node: TestClusterNode): () => Promise<boolean> {
  const stop = new AbortController();
  const watching = (async () => {
    while (await isReady(node)) {
      await sleep(readyPeriodMs, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return true;
    }
    return false;
  })();
  watching.catch(() => {});
  return () => {
    stop.abort();
    return watching;
  };
}

async function isReady(node: TestClusterNode): Promise<boolean> {
  const { status } = await node.api.get<{ status?: { conditions?: { type: string; status: string }[] } }>(node.nodePath);
  return conditionOf(status, 'Ready') === 'True';
}

async function threadDeaths(node: TestClusterNode): Promise<number> {
  const metrics = await node.api.text(`${node.nodePath}/proxy/metrics`);
  let sum = 0;
  for (const [, value] of metrics.matchAll(/^kubelet_thread_deaths_total\S* (\d+)$/gm)) sum += Number(value);
  return sum;
}
