/** The types of the Node object, and the API's well-known names that this folder uses. */
import type { V1Node } from '@kubernetes/client-node';
import type { Draft, Wire } from '../../shared/kubernetes/api.ts';
import { isReadyTrue } from '../../shared/kubernetes/ready-condition.ts';

type WireNode = Wire<V1Node>;

/** A Node with a name. Unknown fields are kept. */
export interface Node extends Omit<WireNode, 'metadata'> {
  readonly metadata: NonNullable<WireNode['metadata']> & { readonly name: string };
}
export type NodeSpec = NonNullable<Node['spec']>;
export type NodeStatus = NonNullable<Node['status']>;
export type NodeCondition = NonNullable<NodeStatus['conditions']>[number];
export type NodeSystemInfo = NonNullable<NodeStatus['nodeInfo']> & {
  /** Since v1.37, with the gate KubeletInUserNamespace. */
  readonly runningInUserNamespace?: boolean;
};
export type ResourceList = Readonly<Record<string, string>>;
export type DraftNode = Draft<Node>;

/** An event about the node. The recorder adds the object reference. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Marks a node whose volumes the attach-detach controller, not the kubelet, attaches (upstream: pkg/volume/util). */
export const controllerManagedAttachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
/** Passes `--node-ip` to an external cloud provider (upstream: cloud-provider/api). */
export const providedNodeIPAnnotation = 'alpha.kubernetes.io/provided-node-ip';
/** Prevents scheduling until the external cloud provider has initialized the node. */
export const uninitializedTaint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' } as const;

export function isReady(node: Node | null): boolean {
  return node?.status?.conditions?.some(isReadyTrue) ?? false;
}

/** Go's names of the operating system and the architecture (GOOS, GOARCH). */
export const operatingSystem = 'linux';
export const architecture = goArchitecture(process.arch);

function goArchitecture(arch: string): string {
  const names: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le', loong64: 'loong64' };
  return names[arch] ?? arch;
}
