/** What makes a decoded pod a static pod of this node (upstream pkg/kubelet/config/common.go applyDefaults). */
import { createHash } from 'node:crypto';
import { configHashAnnotation } from '../../../shared/kubernetes/annotations.ts';
import type { Draft, Pod } from '../../../shared/kubernetes/api.ts';

export interface ManifestOrigin {
  readonly source: 'file' | 'http';
  /** The path or URL. */
  readonly origin: string;
  readonly nodeName: string;
}

/** Changes the pod in place: nobody else holds it yet. Its API defaults are applied already, so that they are part of its UID. */
export function makeStatic(pod: Draft<Pod>, from: ManifestOrigin): void {
  const { metadata, spec } = pod;
  metadata.uid ||= staticPodUID(pod, from);
  metadata.name = `${metadata.name}-${from.nodeName.toLowerCase()}`;
  metadata.namespace ||= 'default';
  metadata.annotations = { ...metadata.annotations, [configHashAnnotation]: metadata.uid };
  spec.nodeName = from.nodeName;
  // A file's pod stays through the node's problems: it may be what repairs them.
  if (from.source === 'file') spec.tolerations = withToleration(spec.tolerations ?? []);
  pod.status = { phase: 'Pending' };
}

/**
 * 32 hex digits that change with the pod's content, its origin or (for files) its node, and with nothing else: the same manifest read after
 * a restart must give the same UID. Upstream hashes a dump of Go's memory, which nobody else can reproduce; here it is the pod's JSON
 * with sorted keys. So a static pod's UID differs from the Go kubelet's, and a change between the two restarts static pods only.
 */
export function staticPodUID(pod: Draft<Pod>, { source, origin, nodeName }: ManifestOrigin): string {
  const place = source === 'file' ? `host:${nodeName}file:${origin}` : `url:${origin}`;
  return createHash('sha256').update(canonicalJSON(pod)).update(place).digest('hex').slice(0, 32);
}

function canonicalJSON(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

type Toleration = NonNullable<Draft<Pod>['spec']['tolerations']>[number];

/** Of every NoExecute taint, for good: in the place of one for the same taints. */
function withToleration(tolerations: Toleration[]): Toleration[] {
  const forever: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const isSame = ({ key, operator, value, effect }: Toleration) => !key && operator === 'Exists' && !value && effect === 'NoExecute';
  return tolerations.some(isSame) ? tolerations.map((each) => (isSame(each) ? forever : each)) : [...tolerations, forever];
}
