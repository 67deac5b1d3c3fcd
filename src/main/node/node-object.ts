/** The Node as it stands on the wire, and the names of the API that the rest of this room uses. */
import type { V1Node } from '@kubernetes/client-node';
import type { Draft, Wire } from '../../shared/kubernetes/api.ts';

type WireNode = Wire<V1Node>;

/** A Node with what every Node has: a name. Fields of it that this kubelet does not know are kept. */
export interface Node extends Omit<WireNode, 'metadata'> {
  readonly metadata: NonNullable<WireNode['metadata']> & { readonly name: string };
}
export type NodeSpec = NonNullable<Node['spec']>;
export type NodeStatus = NonNullable<Node['status']>;
export type NodeCondition = NonNullable<NodeStatus['conditions']>[number];
export type NodeAddress = NonNullable<NodeStatus['addresses']>[number];
export type NodeSystemInfo = NonNullable<NodeStatus['nodeInfo']>;
export type ResourceList = Readonly<Record<string, string>>;
export type DraftNode = Draft<Node>;

/** An event about the node; the object that it is about is added where it is recorded. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Set where the attach-detach controller, not the kubelet, attaches volumes (upstream: pkg/volume/util). */
export const controllerManagedAttachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
/** Tells an external cloud provider which address was asked for (upstream: cloud-provider/api). */
export const providedNodeIPAnnotation = 'alpha.kubernetes.io/provided-node-ip';
/** Keeps pods away until the external cloud provider has seen the node. */
export const uninitializedTaint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' } as const;

export function isReady(node: Node | null): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Go's names of what this process runs on. */
export const operatingSystem = 'linux';
export const architecture = goArchitecture(process.arch);

function goArchitecture(arch: string): string {
  const names: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le', loong64: 'loong64' };
  return names[arch] ?? arch;
}
