/**
 * A node of a real cluster that reaches the API server through a proxy with injectable faults, with
 * a watch of its pods and a measurement of the main thread's event-loop delay.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FaultyApiServer } from '../api-server/api-server-faults.ts';
import type { TestCluster } from './control-plane.ts';
import { PodWatch } from './pod-watch.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import { aManifest, TestNode, type TestNodeOptions } from '../kubelet/test-node.ts';

export interface FaultyNodeOptions extends Pick<TestNodeOptions, 'config' | 'flags' | 'env'> {
  /** Called before the kubelet starts. Returns the path of the kubeconfig to use. */
  readonly kubeconfig?: (proxy: FaultyApiServer) => string;
}

export interface FaultyNode {
  readonly nodeName: string;
  readonly namespace: string;
  readonly node: TestNode;
  /** The proxy between the kubelet and the API server. */
  readonly proxy: FaultyApiServer;
  readonly pods: PodWatch;
  /** Creates a pod that is bound to this node. */
  create(name: string, ...rest: Tail<Parameters<typeof aManifest>>): ReturnType<PodWatch['create']>;
  readyStatus(): Promise<string>;
}
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

interface NodeObject {
  readonly metadata: { readonly uid: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export async function startFaultyNode(
  t: TestHooks,
  cluster: TestCluster,
  nodeName: string,
  { config, flags = [], env = {}, kubeconfig }: FaultyNodeOptions = {},
): Promise<FaultyNode> {
  const namespace = await cluster.namespace(t);
  const member = await cluster.member(t, nodeName);
  const proxy = await FaultyApiServer.start(t, cluster, nodeName);
  const node = await TestNode.start(t, {
    config: { ...member.config, ...config },
    flags: [...member.flags, ...(kubeconfig ? ['--kubeconfig', kubeconfig(proxy)] : proxy.flags), ...flags],
    env: { ...loopDelayEnv(), ...env },
  });
  const pods = await PodWatch.start(t, cluster, namespace);
  await node.startKubelet();
  const faulty: FaultyNode = {
    nodeName,
    namespace,
    node,
    proxy,
    pods,
    create: (name, spec = {}, metadata = {}) => pods.create(aManifest(name, { nodeName, ...spec }, { namespace, ...metadata })),
    readyStatus: async () => {
      const found = await cluster.api.find<NodeObject>(`/api/v1/nodes/${nodeName}`);
      return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'none';
    },
  };
  await waitUntil('the node is Ready', async () => (await faulty.readyStatus()) === 'True', 60_000);
  resetLoopDelay(node);
  return faulty;
}

const delayFile = ({ folder }: TestNode) => join(folder, 'loop-delay.json');

/** Returns the environment for a TestNode's kubelet that measures the event-loop delay of its main thread. */
export function loopDelayEnv(): Record<string, string> {
  const nodeOptions = `${process.env['NODE_OPTIONS'] ?? ''} --import=${join(import.meta.dirname, '../preloads/loop-delay.mjs')}`;
  return { NODE_OPTIONS: nodeOptions.trim() };
}

/** Resets the measurement: a start loads the whole program. */
export function resetLoopDelay(node: TestNode): void {
  writeFileSync(`${delayFile(node)}.reset`, '');
}

/** Returns `p99 3.2 ms, …` since the last reset for the test's output. Nothing is asserted, since the value depends on the load of the host. */
export function loopDelay(node: TestNode): string {
  const { p50, p99, max } = JSON.parse(readFileSync(delayFile(node), 'utf8')) as Record<'p50' | 'p99' | 'max', number>;
  return `main's event-loop delay: p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms`;
}
