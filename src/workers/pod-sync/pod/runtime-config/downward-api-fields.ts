/** Resolves the downward API's fieldRef, in environment variables and files (upstream pkg/fieldpath, Kubelet.podFieldSelectorRuntimeValue). */
import { isIP, isIPv4, SocketAddress } from 'node:net';
import type { NodeInfo } from '../../../../shared/contracts/node-info.ts';
import type { Container, Pod } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';

export interface FieldRef {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

export interface FieldContext {
  readonly node: Pick<NodeInfo, 'hostIPs'>;
  readonly podIPs: readonly string[];
}

/** Returns the value of an environment variable. Throws an Error that names an unsupported field. */
export function envField({ apiVersion, fieldPath }: FieldRef, pod: Pod, { node, podIPs }: FieldContext): string {
  if (apiVersion && apiVersion !== 'v1') throw new Error(`unsupported pod version: ${apiVersion}`);
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIPs(node)[0] ?? '';
    case 'status.hostIPs':
      return hostIPs(node).join(',');
    case 'status.podIP':
      return sortedPodIPs(pod, podIPs, node)[0] ?? '';
    case 'status.podIPs':
      return sortedPodIPs(pod, podIPs, node).join(',');
    default:
      return metadataField(pod, fieldPath);
  }
}

/** Returns whether a container's environment contains the pod's IPs. */
export function usesPodIPs({ env }: Pick<Container, 'env'>): boolean {
  return env?.some(({ valueFrom }) => /^status\.podIPs?$/.test(valueFrom?.fieldRef?.fieldPath ?? '')) ?? false;
}

/** Returns the content of a downward API file, which may show metadata only. Throws an Error that names an unsupported field. */
export function metadataField({ metadata }: Pod, fieldPath: string): string {
  const subscripted = /^([^].+?)\['([^]*)'\]$/.exec(fieldPath);
  if (subscripted) {
    const [, path, key = ''] = subscripted;
    if (path !== 'metadata.annotations' && path !== 'metadata.labels') {
      throw new Error(`fieldPath ${goQuote(fieldPath)} does not support subscript`);
    }
    const values = path === 'metadata.labels' ? metadata.labels : metadata.annotations;
    return values && Object.hasOwn(values, key) ? (values[key] ?? '') : '';
  }
  switch (fieldPath) {
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    default:
      throw new Error(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** Returns `key="value"` lines, sorted by the bytes of the keys. */
function formatMap(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}

function hostIPs({ hostIPs: addresses }: FieldContext['node']): readonly string[] {
  if (addresses.length === 0) throw new Error('host IP unknown; known addresses: []');
  return addresses;
}

/** Returns one IP of each family in canonical form, the node's family first. A pod in the host's network has the node's IPs. */
function sortedPodIPs(pod: Pod, podIPs: readonly string[], node: FieldContext['node']): string[] {
  const addresses = podIPs.length === 0 && pod.spec.hostNetwork ? node.hostIPs : podIPs;
  const v4First = node.hostIPs.length === 0 || isIPv4(node.hostIPs[0] ?? '');
  const ofFamily = (family: 4 | 6) => addresses.filter((address) => isIP(address) === family).slice(0, 1);
  const sorted = v4First ? [...ofFamily(4), ...ofFamily(6)] : [...ofFamily(6), ...ofFamily(4)];
  return sorted.map((address) => new SocketAddress({ address, family: isIPv4(address) ? 'ipv4' : 'ipv6' }).address);
}
