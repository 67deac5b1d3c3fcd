/** Builds the Node that this kubelet registers. Pure. Upstream: initialNode in pkg/kubelet/kubelet_node_status.go. */
import type { StringMap, Taint } from '../../config/kubelet-configuration.ts';
import { architecture, controllerManagedAttachAnnotation, operatingSystem, uninitializedTaint, type Node } from '../node-object.ts';

export interface NodeIdentity {
  readonly nodeName: string;
  readonly hostname: string;
  /** From `--node-labels`. These override the kubelet's default labels. */
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly providerID: string;
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
}

/** Returns the Node without a status. */
export function initialNode(identity: NodeIdentity): Node {
  const taints = [
    ...identity.taints.map(({ key, value, effect }) => ({ key, ...(value === '' ? {} : { value }), effect })),
    ...(identity.externalCloudProvider ? [uninitializedTaint] : []),
  ];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: identity.nodeName,
      labels: { ...defaultLabels(identity.hostname), ...identity.labels },
      ...(identity.enableControllerAttachDetach ? { annotations: { [controllerManagedAttachAnnotation]: 'true' } } : {}),
    },
    spec: {
      ...(taints.length > 0 ? { taints } : {}),
      ...(identity.providerID === '' ? {} : { providerID: identity.providerID }),
    },
  };
}

export function defaultLabels(hostname: string): StringMap {
  return {
    'kubernetes.io/hostname': hostname,
    'kubernetes.io/os': operatingSystem,
    'kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': operatingSystem,
    'beta.kubernetes.io/arch': architecture,
  };
}
