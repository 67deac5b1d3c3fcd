/** A cluster of one guest: etcd and an API server on the host's side of its cable, and the guest's node, which joins them. */
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import { clusterMember } from '../../../lab/control-plane/control-plane-member.ts';
import { ensureControlPlane } from '../../../lab/programs/control-plane.ts';
import type { Node } from '../../../src/main/node/node-object.ts';
import type { Container, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../cleanups.ts';
import { privateCluster, type ApiClient, type TestCluster } from '../cluster/control-plane.ts';
import { PodWatch } from '../cluster/pod-watch.ts';
import { aBusybox, aManifest } from '../kubelet/test-node.ts';
import { guestAddress, hostAddress, layCable } from './guest-cable.ts';

const nodeName = 'guest';
const nodes = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;

export class GuestCluster {
  /** Of the namespace `default`. */
  readonly pods: PodWatch;
  readonly #cluster: TestCluster<ControlPlane>;
  readonly #cleanups: Cleanups;

  private constructor(cluster: TestCluster<ControlPlane>, pods: PodWatch, cleanups: Cleanups) {
    this.#cluster = cluster;
    this.pods = pods;
    this.#cleanups = cleanups;
  }

  /** Builds the programs where they are missing. Call it before the guest boots. */
  static async start(): Promise<GuestCluster> {
    await ensureControlPlane(console.log);
    layCable();
    const hooks = new Cleanups();
    const cluster = await privateCluster(hooks, { address: hostAddress, controllerManager: false, scheduler: false });
    // Pods are only admitted with one. The controller manager would create it.
    await cluster.api.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    return new GuestCluster(cluster, await PodWatch.start(hooks, cluster, 'default'), hooks);
  }

  destroy(): Promise<void> {
    return this.#cleanups.run();
  }

  get api(): ApiClient {
    return this.#cluster.api;
  }
  /** A folder that the guest must share. */
  get folder(): string {
    return this.#cluster.controlPlane.folder;
  }

  /** The flags and fields of KubeletConfiguration of the node. For GuestNodeOptions.prepare. */
  member(): { readonly config: object; readonly flags: readonly string[] } {
    const { kubeconfig, configuration } = clusterMember(this.#cluster.controlPlane, nodeName, 10_250, [guestAddress]);
    return { config: { ...configuration, readOnlyPort: 10_255 }, flags: [`--kubeconfig=${kubeconfig}`, `--node-ip=${guestAddress}`] };
  }

  async create(...pods: readonly object[]): Promise<void> {
    for (const pod of pods) await this.pods.create(pod);
  }

  /** Waits until the Node of the guest fulfils the condition, woken by a watch. */
  async untilNode(what: string, condition: (node: Node) => boolean, timeoutMs: number): Promise<Node> {
    let last: Node | undefined;
    // A watch without a version starts with the current object.
    for await (const { object } of this.api.watch<Node>(nodes, AbortSignal.timeout(timeoutMs))) {
      last = object;
      if (condition(object)) return object;
    }
    throw new Error(`the Node ${what}: not within ${timeoutMs} ms; it is ${JSON.stringify(last?.status)}`);
  }

  /** Waits until the Node has these conditions, and no others. */
  async untilConditions(types: string, timeoutMs = 180_000): Promise<void> {
    const typesOf = ({ status }: Node) =>
      (status?.conditions ?? []).filter((condition) => condition.status === 'True').map(({ type }) => type);
    await this.untilNode(`has only the conditions ${types}`, (node) => typesOf(node).join() === types, timeoutMs);
  }
}

/** A pod that the API server knows and that the guest's node runs. */
export function onNode(name: string, container: Partial<Container> & { readonly sh?: string }, spec: Partial<PodSpec> = {}): object {
  return aManifest(name, {
    nodeName,
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    containers: [aBusybox(container)],
    ...spec,
  });
}
