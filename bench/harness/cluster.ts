/**
 * A real API server and a real runtime for a benchmark, and the kubelet that joins them. No controllers and no scheduler: pods are bound
 * when they are made, and on a machine of two cores nobody else should be at work; what controllers would give a pod of the default
 * service account is made by hand.
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiClient } from '../../scripts/host/control-plane-api.ts';
import { clusterMember } from '../../scripts/host/control-plane-member.ts';
import { stablePorts } from '../../scripts/host/control-plane-ports.ts';
import { ControlPlane } from '../../scripts/host/control-plane.ts';
import { removeFolder, type PrivateContainerd } from '../../scripts/host/private-containerd.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { CriDriver } from '../driver/cri-driver.ts';
import { ApiWatch } from './api-watch.ts';
import type { BenchContext } from './benchmark.ts';
import { benchPodSpec, startContainerd } from './containerd.ts';
import { KubeletProcess, type KubeletProgram } from './kubelet-process.ts';
import { PodWatch } from './pod-watch.ts';

export const nodeName = 'bench';
export const namespace = 'bench';
const nodePath = `/api/v1/nodes/${nodeName}`;
const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const readyTimeoutMs = 60_000;

interface Node {
  readonly metadata: { readonly resourceVersion?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export class BenchCluster {
  readonly controlPlane: ControlPlane;
  readonly containerd: PrivateContainerd;
  /** Does to this runtime what a kubelet would; never while one runs on it, which would end pods that it does not know. */
  readonly driver: CriDriver;
  /** As cluster-admin. */
  readonly api: ApiClient;
  readonly pods: PodWatch;
  #securePort = 0;

  private constructor(controlPlane: ControlPlane, containerd: PrivateContainerd, api: ApiClient, driver: CriDriver, pods: PodWatch) {
    this.controlPlane = controlPlane;
    this.containerd = containerd;
    this.api = api;
    this.driver = driver;
    this.pods = pods;
  }

  /** All of it goes when the benchmark is over. */
  static async start(context: BenchContext): Promise<BenchCluster> {
    const { containerd, driver } = await startContainerd(context);
    context.progress('an API server of its own …');
    const folder = mkdtempSync(join(tmpdir(), 'bench-control-plane-'));
    context.onEnd(async () => removeFolder(folder));
    const controlPlane = await ControlPlane.start({ folder, controllerManager: false, scheduler: false, say: context.progress });
    context.onEnd(() => controlPlane.stop());
    const api = controlPlane.client();
    context.onEnd(() => api.close());
    await makeNamespace(controlPlane, api);
    const pods = await PodWatch.start(api, namespace);
    context.onEnd(() => pods.close());
    return new BenchCluster(controlPlane, containerd, api, driver, pods);
  }

  /** A kubelet whose Node is Ready, on the cluster's runtime: this project's, or another. */
  async join({
    maxPods = 110,
    program,
  }: { readonly maxPods?: number; readonly program?: KubeletProgram | undefined } = {}): Promise<KubeletProcess> {
    const [port = 0] = await stablePorts(1);
    this.#securePort = port;
    const { kubeconfig, configuration } = clusterMember(this.controlPlane, nodeName, port);
    // Nobody calls it but the benchmark, on the port that asks for no credentials.
    const { readOnlyPort: _, ...config } = { ...configuration, address: '127.0.0.1' } as Record<string, unknown>;
    // One of a kubelet before is Ready already.
    if (await this.api.find(nodePath)) await this.api.delete(nodePath);
    const ready = await this.watchReady();
    try {
      const kubelet = await KubeletProcess.start({
        runtimeEndpoint: this.containerd.endpoint,
        maxPods,
        config,
        member: { nodeName, kubeconfig },
        ...(program && { program }),
      });
      await ready.seen.catch(async (err: unknown) => {
        const failure = kubelet.withLog(err);
        await kubelet.stop();
        throw failure;
      });
      return kubelet;
    } finally {
      await ready.close();
    }
  }

  /** Where the server of the kubelet that joined last listens. */
  get securePort(): number {
    return this.#securePort;
  }

  /** Watches the Node from now on: `seen` is the monotonic ms at which it was Ready. */
  async watchReady(): Promise<{ readonly seen: Promise<number>; readonly close: () => Promise<void> }> {
    let readyMs: number | undefined;
    const path = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;
    const watch = await ApiWatch.start<Node>(this.api, path, ({ object }, atMs) => {
      if (object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) readyMs ??= atMs;
    });
    const seen = watch.waitUntil('the node is Ready', readyTimeoutMs, () => readyMs !== undefined).then(() => readyMs!);
    // Whoever began to watch may look at it later.
    seen.catch(() => {});
    return { seen, close: () => watch.close() };
  }

  /** As a controller does to the Node of a kubelet that it does not hear of. */
  async markUnknown(): Promise<void> {
    const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }];
    await this.api.patch(`${nodePath}/status`, { status: { conditions } }, 'strategic-merge');
  }

  /** The benchmarks' pod, bound to a node, with the volume that every pod has by default: token, root CA, namespace. */
  createPod(name: string, boundTo = nodeName): Promise<Pod> {
    const { automountServiceAccountToken: _, ...spec } = benchPodSpec;
    return this.api.create<Pod>(podsPath, { metadata: { name }, spec: { ...spec, nodeName: boundTo } });
  }

  /** Resolves when the API server has taken note of it; without options, with the grace period of the pod. */
  async deletePod(name: string, options?: object): Promise<void> {
    await this.api.delete(`${podsPath}/${name}`, options);
  }

  /** A token as in the pod's volume. */
  async podToken(pod: Pod): Promise<string> {
    const { name, uid } = pod.metadata;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
    const { status } = await this.api.create<{ status: { token: string } }>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], expirationSeconds: 3607, boundObjectRef },
      },
    );
    return status.token;
  }

  /** Writes a status as a kubelet does. */
  async patchStatus(pod: Pod, status: object): Promise<void> {
    const { name, uid } = pod.metadata;
    await this.api.patch(`${podsPath}/${name}/status`, { metadata: { uid }, status }, 'strategic-merge');
  }

  /** What the node has asked of the API server about pods since that wall-clock ms. Complete a moment after the last was answered. */
  podRequests(sinceMs: number): PodRequest[] {
    return this.controlPlane
      .auditEvents(nodeName)
      .filter(
        ({ objectRef, requestReceivedTimestamp }) => objectRef?.resource === 'pods' && Date.parse(requestReceivedTimestamp) >= sinceMs,
      )
      .map(({ verb, objectRef }) => ({ verb, subresource: objectRef?.subresource ?? '', pod: objectRef?.name ?? '' }));
  }
}

export interface PodRequest {
  /** As the audit log says it: get, patch, delete, list, watch. */
  readonly verb: string;
  readonly subresource: string;
  readonly pod: string;
}

async function makeNamespace({ caFile }: ControlPlane, api: ApiClient): Promise<void> {
  await api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  const data = { 'ca.crt': readFileSync(caFile, 'utf8') };
  await api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'kube-root-ca.crt' }, data });
  await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
}
