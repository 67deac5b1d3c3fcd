/**
 * What changed when a source says which pods it has: the pure half of the pod config (upstream pkg/kubelet/config/config.go).
 * Pods are told apart by UID within one source. A pod is never changed in place: whoever holds an older one keeps it whole.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { configMirrorAnnotation, configSeenAnnotation, configSourceAnnotation } from '../../shared/kubernetes/annotations.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';

export type PodSource = 'file' | 'http' | 'api';
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/**
 * ADD: never seen under this UID. UPDATE: spec, labels or annotations changed. DELETE: asked to end gracefully. REMOVE: the source no
 * longer has it. RECONCILE: only the status differs, which is the kubelet's own to set right.
 */
export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}

export type PodsByUID = ReadonlyMap<PodUID, Pod>;

export interface MergeResult {
  /** What the source has now. */
  readonly pods: PodsByUID;
  /** In the order in which they must be handled: a recreated pod's REMOVE comes before its ADD. */
  readonly updates: readonly PodUpdate[];
  /** Left out, because another pod of the same source has its name and namespace. */
  readonly duplicates: readonly Pod[];
}

/** `seenAt` is the time of now, as RFC 3339: it is stamped on each pod that was not there before. */
export function mergePods(known: PodsByUID, source: PodSource, snapshot: readonly Pod[], seenAt: string): MergeResult {
  const { unique, duplicates } = withoutDuplicateNames(snapshot);
  const pods = new Map<PodUID, Pod>();
  const changed: Record<PodOperation, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };
  for (const incoming of unique) {
    const pod = withAnnotations(incoming, { [configSourceAnnotation]: source });
    const existing = known.get(podUID(pod));
    const { op, merged } = existing
      ? mergeOne(existing, pod)
      : ({ op: 'ADD', merged: withAnnotations(pod, { [configSeenAnnotation]: seenAt }) } as const);
    pods.set(podUID(pod), merged);
    if (op) changed[op].push(merged);
  }
  for (const [uid, existing] of known) if (!pods.has(uid)) changed.REMOVE.push(existing);
  const updates = (Object.keys(changed) as PodOperation[])
    .filter((op) => changed[op].length > 0)
    .map((op) => ({ op, source, pods: changed[op] }));
  return { pods, updates, duplicates };
}

function withoutDuplicateNames(snapshot: readonly Pod[]): { unique: Pod[]; duplicates: Pod[] } {
  const names = new Set<string>();
  const [unique, duplicates]: [Pod[], Pod[]] = [[], []];
  for (const pod of snapshot) {
    const isNew = !names.has(podFullName(pod));
    names.add(podFullName(pod));
    (isNew ? unique : duplicates).push(pod);
  }
  return { unique, duplicates };
}

function mergeOne(existing: Pod, incoming: Pod): { readonly op: PodOperation | null; readonly merged: Pod } {
  if (!podsDifferSemantically(existing, incoming)) {
    if (isDeepStrictEqual(existing.status, incoming.status)) return { op: null, merged: existing };
    return { op: 'RECONCILE', merged: withStatus(existing, incoming) };
  }
  const op = incoming.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
  return { op, merged: withStatus(withMetadata({ ...existing, spec: incoming.spec }, incoming), incoming) };
}

/** The kubelet's own annotations count for nothing here: the source does not know them. */
function podsDifferSemantically(existing: Pod, incoming: Pod): boolean {
  const ofInterest = ({ spec, metadata }: Pod) => [
    spec,
    metadata.labels ?? {},
    metadata.deletionTimestamp,
    metadata.deletionGracePeriodSeconds,
    withoutLocal(metadata.annotations),
  ];
  return !isDeepStrictEqual(ofInterest(existing), ofInterest(incoming));
}

const localAnnotations: ReadonlySet<string> = new Set([configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation]);

type Annotations = Readonly<Record<string, string>>;

function withoutLocal(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !localAnnotations.has(key)));
}

function onlyLocal(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => localAnnotations.has(key)));
}

/** What a source may change of a pod that it has already given; all other metadata stays as first seen. */
const mutableMetadata = ['labels', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const;

function withMetadata(pod: Pod, incoming: Pod): Pod {
  const kept = Object.entries(pod.metadata).filter(([key]) => !(mutableMetadata as readonly string[]).includes(key));
  const taken = Object.entries(incoming.metadata).filter(([key]) => (mutableMetadata as readonly string[]).includes(key));
  const annotations = { ...incoming.metadata.annotations, ...onlyLocal(pod.metadata.annotations) };
  return { ...pod, metadata: { ...Object.fromEntries([...kept, ...taken]), annotations } as Pod['metadata'] };
}

function withStatus(pod: Pod, { status }: Pod): Pod {
  const { status: _, ...rest } = pod;
  return status === undefined ? rest : { ...rest, status };
}

function withAnnotations(pod: Pod, annotations: Annotations): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}
