/**
 * Starts the shipped daemon as a member of the run's cluster on the simulated runtime, for tests without real containers. Everything is
 * removed at the end of the test, in reverse order.
 */
import { KubeletProcess } from '../../../lab/kubelet/kubelet-process.ts';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { sharedCluster, type TestCluster } from './control-plane.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { startSimulatedRuntime, type TestHooks, type SimulatedRuntimeProcess } from '../runtime/simulated-runtime.ts';

export interface SimulatedMember {
  readonly cluster: TestCluster;
  readonly runtime: SimulatedRuntimeProcess;
  /** A new namespace for this member. */
  readonly namespace: string;
  /** The kubelet's root folder. */
  readonly rootFolder: string;
  /** Creates a pod that is bound to this node. */
  create(name: string, spec?: Partial<PodSpec>, namespace?: string): Promise<Pod>;
}

export interface SimulatedMemberOptions {
  /** Returns another kubeconfig, for example with a proxy. */
  readonly kubeconfigOf?: (cluster: TestCluster) => Promise<string>;
  readonly runtime?: RuntimeOptionsInput;
  /** Of the kubelet. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** More fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** See `KubeletProcessOptions`. */
  readonly rootBytes?: number;
}

export async function startSimulatedMember(
  t: TestHooks,
  nodeName: string,
  { kubeconfigOf, runtime: runtimeOptions, featureGates = {}, config: more = {}, rootBytes }: SimulatedMemberOptions = {},
): Promise<SimulatedMember> {
  const cluster = await sharedCluster();
  t.after(() => cluster.close());
  const namespace = await cluster.namespace(t);
  const runtime = await startSimulatedRuntime(t, { images: [{ name: 'sim/run:1' }], ...runtimeOptions });
  // KubeletProcess sets its own read-only port.
  const { readOnlyPort: _, ...config } = { ...(await cluster.member(t, nodeName)).config };
  const kubeconfig = (await kubeconfigOf?.(cluster)) ?? cluster.controlPlane.kubeletKubeconfig(nodeName);
  const kubelet = await KubeletProcess.start({
    runtimeEndpoint: runtime.endpoint,
    config: { ...config, featureGates, address: '127.0.0.1', ...more },
    ...(rootBytes !== undefined && { rootBytes }),
    member: { nodeName, kubeconfig },
  });
  t.after(() => kubelet.stop());
  const spec = { nodeName, terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image: 'sim/run:1' }] };
  return {
    cluster,
    runtime,
    namespace,
    rootFolder: kubelet.rootFolder,
    create: (name, more = {}, inNamespace = namespace) =>
      cluster.api.create<Pod>(`/api/v1/namespaces/${inNamespace}/pods`, { metadata: { name }, spec: { ...spec, ...more } }),
  };
}
