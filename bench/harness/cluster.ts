/**
 * A real API server and a real runtime for a benchmark, and the kubelet that joins them. There are no controllers and no scheduler, which
 * would take CPU time on a machine with two cores: pods are created with a node name, and the objects that controllers would create for
 * the default service account are created here.
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiClient } from '../../lab/control-plane/control-plane-api.ts';
import { clusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { reservePorts } from '../../lab/host/reserve-ports.ts';
import { ControlPlane } from '../../lab/control-plane/control-plane.ts';
import { type PrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { CriDriver } from '../driver/cri-driver.ts';
import { ApiWatch } from './api-watch.ts';
import type { BenchContext } from './benchmark.ts';
import { benchPodSpec, startContainerd } from './containerd.ts';
import type { KubeletProgram } from '../../lab/kubelet/kubelet-program.ts';
import { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';
import { isVolumeGet, toNodeRequests, type NodeRequest } from './node-requests.ts';
import { PodWatch } from './pod-watch.ts';

export const nodeName = 'bench';
export const namespace = 'bench';
export const nodePath: string = `/api/v1/nodes/${nodeName}`;
export const csiNodePath: string = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const readyTimeoutMs = 60_000;

interface Node {
  readonly metadata: { readonly resourceVersion?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export class BenchCluster {
  readonly controlPlane: ControlPlane;
  readonly containerd: PrivateContainerd;
  /** Must not be used while a kubelet runs on the runtime, because the kubelet would remove the driver's pods as unknown. */
  readonly driver: CriDriver;
  /** Authenticated as cluster-admin. */
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

  /** Everything is removed at the end of the benchmark. */
  static async start(context: BenchContext): Promise<BenchCluster> {
    const { containerd, driver } = await startContainerd(context);
    context.progress('starting a separate API server …');
    const folder = mkdtempSync(join(tmpdir(), 'bench-control-plane-'));
    context.onEnd(async () => removeFolder(folder));
    const controlPlane = await ControlPlane.start({ folder, controllerManager: false, scheduler: false, progress: context.progress });
    context.onEnd(() => controlPlane.stop());
    const api = controlPlane.client();
    context.onEnd(() => api.close());
    await createNamespace(controlPlane, api);
    const pods = await PodWatch.start(api, namespace);
    context.onEnd(() => pods.close());
    return new BenchCluster(controlPlane, containerd, api, driver, pods);
  }

  /** Starts a kubelet on the cluster's runtime and waits until its Node is Ready. @param program default: this project's kubelet */
  async join({
    maxPods = 110,
    program,
  }: { readonly maxPods?: number; readonly program?: KubeletProgram | undefined } = {}): Promise<KubeletProcess> {
    const [port = 0] = await reservePorts(1);
    this.#securePort = port;
    const { kubeconfig, configuration } = clusterMember(this.controlPlane, nodeName, port);
    // KubeletProcess sets its own read-only port.
    const { readOnlyPort: _, ...config } = { ...configuration, address: '127.0.0.1' } as Record<string, unknown>;
    // The Node of a previous kubelet may be Ready already. The garbage collector would delete its CSINode with it.
    for (const path of [nodePath, csiNodePath]) if (await this.api.find(path)) await this.api.delete(path);
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

  /** The secure port of the kubelet that joined last. */
  get securePort(): number {
    return this.#securePort;
  }

  /** Watches the Node. `seen` resolves with the monotonic ms at which it became Ready. */
  async watchReady(): Promise<{ readonly seen: Promise<number>; readonly close: () => Promise<void> }> {
    let readyMs: number | undefined;
    const path = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;
    const watch = await ApiWatch.start<Node>(this.api, path, ({ object }, atMs) => {
      if (object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) readyMs ??= atMs;
    });
    const seen = watch.waitUntil('the node is Ready', readyTimeoutMs, () => readyMs !== undefined).then(() => readyMs!);
    // The caller may await the promise later.
    seen.catch(() => {});
    return { seen, close: () => watch.close() };
  }

  /** Marks the Node as the node lifecycle controller does when the kubelet's heartbeats stop. */
  async markUnknown(): Promise<void> {
    const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }];
    await this.api.patch(`${nodePath}/status`, { status: { conditions } }, 'strategic-merge');
  }

  /**
   * Creates the benchmarks' pod on a node, with the default service account volume (token, root CA, namespace).
   * @param more fields of the spec
   */
  createPod(name: string, boundTo = nodeName, more: object = {}): Promise<Pod> {
    const { automountServiceAccountToken: _, ...spec } = benchPodSpec;
    return this.api.create<Pod>(podsPath, { metadata: { name }, spec: { ...spec, nodeName: boundTo, ...more } });
  }

  /** Resolves when the API server has accepted the deletion. Without options the pod's own grace period applies. */
  async deletePod(name: string, options?: object): Promise<void> {
    await this.api.delete(`${podsPath}/${name}`, options);
  }

  /** Requests a token like that of the pod's volume. */
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

  /** Patches a status as a kubelet does. */
  async patchStatus(pod: Pod, status: object): Promise<void> {
    const { name, uid } = pod.metadata;
    await this.api.patch(`${podsPath}/${name}/status`, { metadata: { uid }, status }, 'strategic-merge');
  }

  /** Returns the node's requests since the given wall-clock ms, without watches, from the audit log, which is complete shortly after the last response. */
  requests(sinceMs: number): NodeRequest[] {
    return toNodeRequests(this.controlPlane.auditEvents(nodeName), sinceMs);
  }

  /** Returns those about pods. */
  podRequests(sinceMs: number): NodeRequest[] {
    return this.requests(sinceMs).filter(({ resource }) => resource === 'pods');
  }

  /** Returns the GETs of the objects of volumes. */
  volumeGets(sinceMs: number): NodeRequest[] {
    return this.requests(sinceMs).filter(isVolumeGet);
  }
}

async function createNamespace({ caFile }: ControlPlane, api: ApiClient): Promise<void> {
  await api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  const data = { 'ca.crt': readFileSync(caFile, 'utf8') };
  await api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'kube-root-ca.crt' }, data });
  await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
}
