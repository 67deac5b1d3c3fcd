/**
 * The metrics of single probes (upstream prober_manager.go: ProberResults, ProberDuration). They live in this thread and not in its segment of the shared
 * metrics: they end with their pod, and segments only grow.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { ProbedPod, ProbeType } from '../../../shared/contracts/probes.ts';
import { defaultBuckets } from '../../../shared/metrics/define.ts';
import { NativeBuckets } from '../../../shared/metrics/native/native-buckets.ts';

type Pod = Pick<ProbedPod, 'uid' | 'namespace' | 'name'>;

export interface CountSeries {
  readonly pod: Pod;
  readonly container: string;
  readonly probe: ProbeType;
  /** Wall clock. */
  readonly createdAtMs: number;
  successful: number;
  failed: number;
}

/** Durations of successful runs. The labels have no UID: a pod's successor of the same name continues its series. */
export interface DurationSeries {
  readonly pod: Pod;
  readonly container: string;
  readonly probe: ProbeType;
  /** Wall clock. */
  readonly createdAtMs: number;
  sum: number;
  /** The number of runs in each bucket; the last element counts those above the greatest bound. */
  readonly counts: Float64Array;
  readonly native: NativeBuckets;
}

export class ProbeSeries {
  readonly #counts = new Map<PodUID, Map<string, CountSeries>>();
  readonly #durations = new Map<string, DurationSeries>();

  observe(pod: Pod, container: string, probe: ProbeType, outcome: 'success' | 'failure', seconds: number): void {
    const ofPod = this.#counts.get(pod.uid) ?? new Map<string, CountSeries>();
    this.#counts.set(pod.uid, ofPod);
    const key = `${container}/${probe}`;
    const count = ofPod.get(key) ?? { pod, container, probe, successful: 0, failed: 0, createdAtMs: Date.now() };
    ofPod.set(key, count);
    if (outcome === 'failure') {
      count.failed += 1;
      return;
    }
    count.successful += 1;
    const durationKey = `${pod.namespace}/${pod.name}/${key}`;
    const duration = this.#durations.get(durationKey) ?? {
      pod,
      container,
      probe,
      sum: 0,
      counts: new Float64Array(defaultBuckets.length + 1),
      native: new NativeBuckets(),
      createdAtMs: Date.now(),
    };
    this.#durations.set(durationKey, duration);
    duration.sum += seconds;
    duration.native.observe(seconds);
    const bucket = defaultBuckets.findIndex((bound) => seconds <= bound);
    duration.counts[bucket < 0 ? defaultBuckets.length : bucket]! += 1;
  }

  removePod(pod: Pod): void {
    this.#remove(pod, () => true);
  }

  /** Removes the series of the probes that end when a pod terminates. */
  removeStopped(pod: Pod): void {
    this.#remove(pod, (probe) => probe !== 'readiness');
  }

  counts(): CountSeries[] {
    return [...this.#counts.values()].flatMap((ofPod) => [...ofPod.values()]);
  }

  durations(): DurationSeries[] {
    return [...this.#durations.values()];
  }

  #remove({ uid, namespace, name }: Pod, isRemoved: (probe: ProbeType) => boolean): void {
    const ofPod = this.#counts.get(uid);
    if (!ofPod) return;
    for (const [key, { probe }] of ofPod) {
      if (!isRemoved(probe)) continue;
      ofPod.delete(key);
      this.#durations.delete(`${namespace}/${name}/${key}`);
    }
    if (ofPod.size === 0) this.#counts.delete(uid);
  }
}
