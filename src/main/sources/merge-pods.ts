/**
 * Computes the updates between the known pods of a source and its newest pods (upstream pkg/kubelet/config/config.go). The UID
 * identifies a pod within a source. Pods are immutable: an update creates a new object.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { configMirrorAnnotation, configSeenAnnotation, configSourceAnnotation } from '../../shared/kubernetes/annotations.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';

export type PodSource = 'file' | 'http' | 'api';
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE';

/**
 * ADD: the UID is new. UPDATE: spec, labels or annotations changed. DELETE: graceful deletion was requested. REMOVE: the source no longer
 * has the pod. RECONCILE: only the status differs, which the kubelet writes.
 */
export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}

export type PodsByUID = ReadonlyMap<PodUID, Pod>;

export interface MergeResult {
  /** The source's pods. */
  readonly pods: Map<PodUID, Pod>;
  /** In the order in which they must be handled: a recreated pod's REMOVE precedes its ADD. */
  readonly updates: readonly PodUpdate[];
  /** Ignored pods: another pod of the source has the same name and namespace. */
  readonly duplicates: readonly Pod[];
  readonly faults: readonly MergeFault[];
}

/** A pod whose comparison with the known pod failed. The known pod stays. */
export interface MergeFault {
  readonly pod: Pod;
  readonly err: unknown;
}

/** A pod that its source no longer has, with the grace period of its last version. */
export interface GonePod {
  readonly gone: true;
  readonly deletionGracePeriodSeconds: number;
}

/** The newest version of a pod; a GonePod or null when the source no longer has the pod. */
export type PodChange = Pod | GonePod | null;

/** The changed pods of a source, by UID. */
export type SourceChanges = ReadonlyMap<PodUID, PodChange>;

/** False when the source no longer has the pod. */
export function isPod(change: PodChange): change is Pod {
  return change !== null && !('gone' in change);
}

export interface MergeChangesResult {
  /** The new version of each changed pod; null for removed pods. */
  readonly pods: ReadonlyMap<PodUID, Pod | null>;
  readonly updates: readonly PodUpdate[];
  readonly faults: readonly MergeFault[];
}

/**
 * `seenAt`: the current time as RFC 3339, written into the annotations of new pods. `recreated`: pods that were removed and added again;
 * they are removed and added with the same UID.
 */
export function mergePods(
  knownPods: PodsByUID,
  source: PodSource,
  snapshot: readonly Pod[],
  seenAt: string,
  recreated: ReadonlySet<PodUID> = new Set(),
): MergeResult {
  const { unique, duplicates } = withoutDuplicateNames(snapshot);
  const pods = new Map<PodUID, Pod>();
  const collector = new UpdateCollector(source);
  const existingPod = (uid: PodUID) => (recreated.has(uid) ? undefined : knownPods.get(uid));
  for (const incoming of unique) {
    const merged = collector.merge(existingPod(podUID(incoming)), incoming, seenAt);
    if (merged) pods.set(podUID(incoming), merged);
  }
  for (const [uid, existing] of knownPods) if (!pods.has(uid) || recreated.has(uid)) collector.add('REMOVE', existing);
  return { pods, updates: collector.updates(), duplicates, faults: collector.faults };
}

/**
 * Like `mergePods`, for a source that reports changes: the cost depends on the number of changes, not of pods. Names are not compared,
 * because such a source never has two pods of one name.
 */
export function mergeChanges(knownPods: PodsByUID, source: PodSource, changes: SourceChanges, seenAt: string): MergeChangesResult {
  const pods = new Map<PodUID, Pod | null>();
  const collector = new UpdateCollector(source);
  for (const [uid, incoming] of changes) {
    const existing = knownPods.get(uid);
    if (isPod(incoming)) {
      const merged = collector.merge(existing, incoming, seenAt);
      if (merged) pods.set(uid, merged);
    } else if (existing) {
      pods.set(uid, null);
      collector.add('REMOVE', incoming ? withGracePeriod(existing, incoming) : existing);
    }
  }
  return { pods, updates: collector.updates(), faults: collector.faults };
}

/**
 * The deletion and its grace period can arrive together (`kubectl delete --force`): the known version of the pod still has its full grace
 * period.
 */
function withGracePeriod(pod: Pod, { deletionGracePeriodSeconds }: GonePod): Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds } };
}

/** Collects the pods by operation. */
class UpdateCollector {
  readonly faults: MergeFault[] = [];
  readonly #source: PodSource;
  readonly #pods: Record<PodOperation, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };

  constructor(source: PodSource) {
    this.#source = source;
  }

  add(op: PodOperation, pod: Pod): void {
    this.#pods[op].push(pod);
  }

  /** Returns the merged pod; after a fault the known pod, or undefined for a new pod. */
  merge(existing: Pod | undefined, incoming: Pod, seenAt: string): Pod | undefined {
    try {
      return this.#merge(existing, incoming, seenAt);
    } catch (err) {
      this.faults.push({ pod: incoming, err });
      return existing;
    }
  }

  #merge(existing: Pod | undefined, incoming: Pod, seenAt: string): Pod {
    const { resourceVersion } = incoming.metadata;
    // An equal resourceVersion means an equal pod: a list of unchanged pods costs no comparison.
    if (existing && resourceVersion !== undefined && existing.metadata.resourceVersion === resourceVersion) return existing;
    const pod = withAnnotations(incoming, { [configSourceAnnotation]: this.#source });
    const { op, merged } = existing
      ? mergeOne(existing, pod)
      : ({ op: 'ADD', merged: withAnnotations(pod, { [configSeenAnnotation]: seenAt }) } as const);
    if (op) this.add(op, merged);
    return merged;
  }

  updates(): PodUpdate[] {
    return (Object.keys(this.#pods) as PodOperation[])
      .filter((op) => this.#pods[op].length > 0)
      .map((op) => ({ op, source: this.#source, pods: this.#pods[op] }));
  }
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
  const { resourceVersion } = incoming.metadata;
  if (!podsDifferSemantically(existing, incoming)) {
    const updatedVersion = withVersion(existing, resourceVersion);
    if (isDeepStrictEqual(existing.status, incoming.status)) return { op: null, merged: updatedVersion };
    return { op: 'RECONCILE', merged: withStatus(updatedVersion, incoming) };
  }
  const op = incoming.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
  return { op, merged: withStatus(withMetadata({ ...existing, spec: incoming.spec }, incoming), incoming) };
}

/** Ignores the annotations that the kubelet itself adds. */
function podsDifferSemantically(existing: Pod, incoming: Pod): boolean {
  const comparedFields = ({ spec, metadata }: Pod) => [
    spec,
    metadata.labels ?? {},
    metadata.deletionTimestamp,
    metadata.deletionGracePeriodSeconds,
    withoutLocal(metadata.annotations),
  ];
  return !isDeepStrictEqual(comparedFields(existing), comparedFields(incoming));
}

const localAnnotations: ReadonlySet<string> = new Set([configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation]);

type Annotations = Readonly<Record<string, string>>;

function withoutLocal(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !localAnnotations.has(key)));
}

function onlyLocal(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => localAnnotations.has(key)));
}

/**
 * The metadata that an update takes over; all other metadata stays as in the first version. Upstream keeps the first resource version
 * too; here the resource version is that of the last merged version.
 */
const mutableMetadata = ['labels', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'resourceVersion'] as const;

function withMetadata(pod: Pod, incoming: Pod): Pod {
  const keptFields = Object.entries(pod.metadata).filter(([key]) => !(mutableMetadata as readonly string[]).includes(key));
  const incomingFields = Object.entries(incoming.metadata).filter(([key]) => (mutableMetadata as readonly string[]).includes(key));
  const annotations = { ...incoming.metadata.annotations, ...onlyLocal(pod.metadata.annotations) };
  return { ...pod, metadata: { ...Object.fromEntries([...keptFields, ...incomingFields]), annotations } as Pod['metadata'] };
}

function withVersion(pod: Pod, resourceVersion: string | undefined): Pod {
  return resourceVersion === undefined ? pod : { ...pod, metadata: { ...pod.metadata, resourceVersion } };
}

function withStatus(pod: Pod, { status }: Pod): Pod {
  const { status: _, ...rest } = pod;
  return status === undefined ? rest : { ...rest, status };
}

function withAnnotations(pod: Pod, annotations: Annotations): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}
