/** Creates, changes and removes the pods of a modelled node: objects of the API server, and manifests. */
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { configSourceAnnotation } from '../../../src/shared/kubernetes/annotations.ts';
import type { PodDisturbance, PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { otherImage, shapedPod } from '../pod-histories/pod-shapes.ts';
import type { ModelApi } from './model-api.ts';
import type { ModelClock } from './model-clock.ts';
import { apiSlots, type ModelOperation } from './model-operations.ts';
import type { Resized } from './resize-operation.ts';

type Operation<Type> = Extract<ModelOperation, { readonly type: Type }>;
type PodOperation = Operation<
  'create' | 'delete' | 'deleteByForce' | 'changeImage' | 'changeLabel' | 'addEphemeral' | 'putStatic' | 'removeStatic' | 'probes'
>;

export interface PodOperationsOptions {
  readonly api: ModelApi;
  readonly clock: ModelClock;
  readonly add: (entry: PodHistoryEntry) => void;
  readonly disturb: (type: PodDisturbance['type'], podUID: string, more?: { container?: string }) => void;
  readonly onResize: (pod: Pod, restarted: string | undefined) => void;
  /** The manifests are others. */
  readonly onManifests: (pods: readonly Pod[]) => void;
}

export class PodOperations {
  readonly #options: PodOperationsOptions;
  /** By slot. */
  readonly #staticPods = new Map<number, Pod>();
  /** What fails in a pod, by its UID. */
  readonly failing = new Map<string, string | null>();
  #created = 0;

  constructor(options: PodOperationsOptions) {
    this.#options = options;
  }

  get manifests(): readonly Pod[] {
    return structuredClone([...this.#staticPods.values()]);
  }

  apply(operation: PodOperation): void {
    const { disturb, clock } = this.#options;
    switch (operation.type) {
      case 'create':
        return this.#create(operation);
      case 'delete':
        return this.delete(`pod-${operation.slot}`, operation.graceSeconds);
      case 'deleteByForce':
        return this.#deleteByForce(`pod-${operation.slot}`);
      case 'changeImage':
        return this.#update(operation.slot, ({ spec, ...pod }) => {
          const [first, ...others] = spec.containers;
          disturb('imageChanged', pod.metadata.uid, { container: first!.name });
          return { ...pod, spec: { ...spec, containers: [{ ...first!, image: otherImage }, ...others] } };
        });
      case 'changeLabel':
        return this.#update(operation.slot, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, labels: { changed: String(clock.monotonic()) } },
        }));
      case 'addEphemeral':
        return this.#update(operation.slot, ({ spec, ...pod }) => {
          const debug = { name: 'debug', image: 'sim/exit:0-after-300ms', imagePullPolicy: 'IfNotPresent' };
          return { ...pod, spec: { ...spec, ephemeralContainers: [debug] } };
        });
      case 'putStatic':
        return this.#putStatic(operation);
      case 'removeStatic':
        this.#staticPods.delete(operation.slot);
        return this.#options.onManifests(this.manifests);
      case 'probes':
        return this.#setProbes(operation.slot, operation.failing);
      default:
        operation satisfies never;
    }
  }

  /** Asks for other resources in a manifest, which keeps its UID. */
  resizeStatic(slot: number, change: (pod: Pod) => Resized | null): void {
    const pod = this.#staticPods.get(slot);
    const resized = pod && change(pod);
    if (!resized) return;
    const next = withoutGeneration(resized.pod);
    this.#options.onResize(next, resized.restarted);
    this.#staticPods.set(slot, next);
    this.#options.onManifests(this.manifests);
  }

  removeManifests(): void {
    this.#staticPods.clear();
    this.#options.onManifests([]);
  }

  delete(name: string, graceSeconds: number): void {
    const { api, clock, add } = this.#options;
    const pod = api.pods.pods.get(name);
    if (!pod) return;
    const before = pod.metadata.deletionGracePeriodSeconds;
    if (before !== undefined && before <= graceSeconds) return;
    add({ source: 'api', type: 'deleted', atMs: clock.monotonic(), podUID: pod.metadata.uid, graceSeconds });
    const deletionTimestamp = new Date(clock.now() + graceSeconds * 1000).toISOString().replace(/\.\d+/, '');
    api.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } });
  }

  #create({ slot, shape, policy, graceSeconds, isCritical }: Operation<'create'>): void {
    const { api } = this.#options;
    const name = `pod-${slot}`;
    if (api.pods.pods.has(name)) return;
    this.#created += 1;
    api.put(shapedPod(shape, { name, uid: `uid-${this.#created}`, policy, graceSeconds, isCritical }) as unknown as Pod);
  }

  #putStatic({ slot, shape, policy, graceSeconds }: Operation<'putStatic'>): void {
    this.#created += 1;
    const pod = shapedPod(shape, { name: `static-${slot}`, uid: `static-${this.#created}`, policy, graceSeconds });
    const { metadata, ...others } = withoutGeneration(pod as unknown as Pod);
    // As the kubelet's source marks it.
    this.#staticPods.set(slot, { ...others, metadata: { ...metadata, annotations: { [configSourceAnnotation]: 'file' } } });
    this.#options.onManifests(this.manifests);
  }

  #deleteByForce(name: string): void {
    const { api, clock, add } = this.#options;
    const pod = api.pods.pods.get(name);
    if (!pod) return;
    add({ source: 'api', type: 'deleted', atMs: clock.monotonic(), podUID: pod.metadata.uid, graceSeconds: 0 });
    api.remove(name);
  }

  #update(slot: number, change: (pod: Pod) => Pod): void {
    const { api } = this.#options;
    const pod = api.pods.pods.get(`pod-${slot}`);
    if (pod) api.put(change(pod));
  }

  #setProbes(slot: number, failing: string | null): void {
    const pod = slot < apiSlots ? this.#options.api.pods.pods.get(`pod-${slot}`) : this.#staticPods.get(slot - apiSlots);
    if (pod) this.failing.set(pod.metadata.uid, failing);
  }
}

/** A manifest has none. */
function withoutGeneration(pod: Pod): Pod {
  const { generation: _, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}
