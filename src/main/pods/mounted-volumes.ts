/**
 * How many volumes the pods want and how many of them are set up, by plugin, and how long each took from the moment that its pod was to run. The
 * pool keeps no state of volumes, and tells of a sync which are in place. Upstream: pkg/kubelet/volumemanager/metrics.
 */
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { volumeKind, pluginNameOf, volumesToMount } from '../../shared/kubernetes/volume-kind.ts';
import { totalVolumes, volumeOperationTotal } from '../../shared/metrics/definitions/volumes.ts';
import type { Clock } from '../../shared/time/clock.ts';

interface CountedVolume {
  readonly plugin: string;
  readonly wantedAtMs: number;
  isWanted: boolean;
  isInPlace: boolean;
  isMeasured: boolean;
}

/** Upstream's caches of the volume manager, which are the values of the label. */
type Cache = 'desired_state_of_world' | 'actual_state_of_world';

export class MountedVolumes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By name. Pods without volumes have no entry. */
  readonly #pods = new Map<PodUID, Map<string, CountedVolume>>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The pod is to run, or has changed: an ephemeral container may use more of its volumes. */
  addPod(pod: Pod): void {
    const uid = podUID(pod);
    const volumes = this.#pods.get(uid) ?? new Map<string, CountedVolume>();
    for (const volume of volumesToMount(pod)) {
      if (volumes.has(volume.name)) continue;
      const plugin = pluginOf(volume);
      volumes.set(volume.name, { plugin, wantedAtMs: this.#clock.monotonic(), isWanted: true, isInPlace: false, isMeasured: false });
      this.#count('desired_state_of_world', plugin, 1);
    }
    if (volumes.size > 0) this.#pods.set(uid, volumes);
  }

  /** These are set up now, and no others of the pod. */
  setMounted(uid: PodUID, inPlace: readonly string[]): void {
    const names = new Set(inPlace);
    for (const [name, volume] of this.#pods.get(uid) ?? []) {
      if (names.has(name) === volume.isInPlace) continue;
      volume.isInPlace = !volume.isInPlace;
      this.#count('actual_state_of_world', volume.plugin, volume.isInPlace ? 1 : -1);
      if (volume.isMeasured) continue;
      volume.isMeasured = true;
      const labels = { plugin_name: volume.plugin, operation_name: 'overall_volume_mount' };
      volumeOperationTotal.observe((this.#clock.monotonic() - volume.wantedAtMs) / 1000, labels);
    }
  }

  /** All that the pod wants are set up, as far as it was told. */
  areAllMounted(uid: PodUID): boolean {
    return (
      this.#pods
        .get(uid)
        ?.values()
        .every(({ isInPlace }) => isInPlace) ?? true
    );
  }

  /** None of its containers runs any more: it wants none. */
  markUnwanted(uid: PodUID): void {
    for (const volume of this.#pods.get(uid)?.values() ?? []) {
      if (volume.isWanted) this.#count('desired_state_of_world', volume.plugin, -1);
      volume.isWanted = false;
    }
  }

  /** They are taken down. */
  removePod(uid: PodUID): void {
    this.markUnwanted(uid);
    this.setMounted(uid, []);
    this.#pods.delete(uid);
  }

  /** Of what there is none of there is no series, as upstream. */
  #count(state: Cache, plugin: string, by: 1 | -1): void {
    const labels = { plugin_name: plugin, state };
    const key = `${state} ${plugin}`;
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#counts.set(key, count);
    if (count > 0) totalVolumes.set(count, labels);
    else totalVolumes.remove(labels);
  }
}

/** `N/A`, as upstream, where this kubelet has none for it. */
function pluginOf(volume: Volume): string {
  try {
    return pluginNameOf(volumeKind(volume));
  } catch {
    return 'N/A';
  }
}
