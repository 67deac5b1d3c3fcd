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
  readonly pods: Map<PodUID, Pod>;
  /** In the order in which they must be handled: a recreated pod's REMOVE comes before its ADD. */
  readonly updates: readonly PodUpdate[];
  /** Left out, because another pod of the same source has its name and namespace. */
  readonly duplicates: readonly Pod[];
  readonly faults: readonly MergeFault[];
}

/** A pod that could not be compared with what is known of it, which stays. */
export interface MergeFault {
  readonly pod: Pod;
  readonly err: unknown;
}

/** A pod that its source has no more, whose last version allowed it this grace period. */
export interface GonePod {
  readonly gone: true;
  readonly deletionGracePeriodSeconds: number;
}

/** A pod as it is now; a GonePod or null for one that the source has no more. */
export type PodChange = Pod | GonePod | null;

/** What a source has changed, by UID. All other pods are as they were. */
export type PodChanges = ReadonlyMap<PodUID, PodChange>;

/** False: the source has it no more. */
export function isPod(change: PodChange): change is Pod {
  return change !== null && !('gone' in change);
}

export interface MergeChangesResult {
  /** What is to be kept of each that was given; null: nothing. */
  readonly pods: ReadonlyMap<PodUID, Pod | null>;
  readonly updates: readonly PodUpdate[];
  readonly faults: readonly MergeFault[];
}

/**
 * `seenAt` is the time of now, as RFC 3339: it is stamped on each pod that was not there before. Pods that are `recreated` were removed since,
 * and added again: they end, and start anew by the same UID.
 */
export function mergePods(
  known: PodsByUID,
  source: PodSource,
  snapshot: readonly Pod[],
  seenAt: string,
  recreated: ReadonlySet<PodUID> = new Set(),
): MergeResult {
  const { unique, duplicates } = withoutDuplicateNames(snapshot);
  const pods = new Map<PodUID, Pod>();
  const changed = new Changed(source);
  const kept = (uid: PodUID) => (recreated.has(uid) ? undefined : known.get(uid));
  for (const incoming of unique) {
    const merged = changed.merge(kept(podUID(incoming)), incoming, seenAt);
    if (merged) pods.set(podUID(incoming), merged);
  }
  for (const [uid, existing] of known) if (!pods.has(uid) || recreated.has(uid)) changed.add('REMOVE', existing);
  return { pods, updates: changed.updates(), duplicates, faults: changed.faults };
}

/**
 * The same for a source that says what changed instead of what it has: it costs what changed, however many pods there are. Names are not
 * looked at: such a source never has two pods of one name.
 */
export function mergeChanges(known: PodsByUID, source: PodSource, changes: PodChanges, seenAt: string): MergeChangesResult {
  const pods = new Map<PodUID, Pod | null>();
  const changed = new Changed(source);
  for (const [uid, incoming] of changes) {
    const existing = known.get(uid);
    if (isPod(incoming)) {
      const merged = changed.merge(existing, incoming, seenAt);
      if (merged) pods.set(uid, merged);
    } else if (existing) {
      pods.set(uid, null);
      changed.add('REMOVE', incoming ? withGracePeriod(existing, incoming) : existing);
    }
  }
  return { pods, updates: changed.updates(), faults: changed.faults };
}

/**
 * The deletion and the word on its grace period may come in one read of the watch (`kubectl delete --force`): the pod as it was known allows
 * itself its whole grace period still.
 */
function withGracePeriod(pod: Pod, { deletionGracePeriodSeconds }: GonePod): Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds } };
}

/** The pods by what happened to them. */
class Changed {
  readonly faults: MergeFault[] = [];
  readonly #source: PodSource;
  readonly #pods: Record<PodOperation, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], DELETE: [], RECONCILE: [] };

  constructor(source: PodSource) {
    this.#source = source;
  }

  add(op: PodOperation, pod: Pod): void {
    this.#pods[op].push(pod);
  }

  /** What the pod is from now on; undefined: it could not be said of a pod that was not there before. */
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
    // The API server's word that nothing is different: a list of everything costs no comparison.
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
    const seen = withVersion(existing, resourceVersion);
    if (isDeepStrictEqual(existing.status, incoming.status)) return { op: null, merged: seen };
    return { op: 'RECONCILE', merged: withStatus(seen, incoming) };
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

/**
 * What a source may change of a pod that it has already given; all other metadata stays as first seen. Upstream keeps the first
 * resource version too; here it is that of what was merged last.
 */
const mutableMetadata = ['labels', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'resourceVersion'] as const;

function withMetadata(pod: Pod, incoming: Pod): Pod {
  const kept = Object.entries(pod.metadata).filter(([key]) => !(mutableMetadata as readonly string[]).includes(key));
  const taken = Object.entries(incoming.metadata).filter(([key]) => (mutableMetadata as readonly string[]).includes(key));
  const annotations = { ...incoming.metadata.annotations, ...onlyLocal(pod.metadata.annotations) };
  return { ...pod, metadata: { ...Object.fromEntries([...kept, ...taken]), annotations } as Pod['metadata'] };
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
