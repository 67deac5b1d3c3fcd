/**
 * Counts the volumes of pods, desired and mounted, by plugin, and measures how long each volume takes from the admission of its pod to its mount.
 * The pool keeps no state of volumes; its tasks notify main of the volumes that they mounted. Upstream: pkg/kubelet/volumemanager/metrics.
 */
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { volumeKind, volumeKinds, volumesToMount } from '../../shared/kubernetes/volume-kind.ts';
import { totalVolumes, volumeOperationTotal } from '../../shared/metrics/definitions/volumes.ts';
import type { Clock } from '../../shared/time/clock.ts';

interface CountedVolume {
  readonly plugin: string;
  readonly desiredAtMs: number;
  isDesired: boolean;
  isMounted: boolean;
  isMeasured: boolean;
}

/** Values of the metric's `state` label: upstream's caches of the volume manager. */
type VolumeState = 'desired_state_of_world' | 'actual_state_of_world';

export class MountedVolumes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By pod UID and volume name. Pods without volumes have no entry. */
  readonly #pods = new Map<PodUID, Map<string, CountedVolume>>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Adds the desired volumes of a new or changed pod: an ephemeral container may use more volumes. */
  addPod(pod: Pod): void {
    const uid = podUID(pod);
    const volumes = this.#pods.get(uid) ?? new Map<string, CountedVolume>();
    for (const volume of volumesToMount(pod)) {
      if (volumes.has(volume.name)) continue;
      const plugin = pluginOf(volume);
      volumes.set(volume.name, { plugin, desiredAtMs: this.#clock.monotonic(), isDesired: true, isMounted: false, isMeasured: false });
      this.#count('desired_state_of_world', plugin, 1);
    }
    if (volumes.size > 0) this.#pods.set(uid, volumes);
  }

  /** Replaces the mounted volumes of the pod. */
  setMounted(uid: PodUID, mounted: readonly string[]): void {
    const names = new Set(mounted);
    for (const [name, volume] of this.#pods.get(uid) ?? []) {
      if (names.has(name) === volume.isMounted) continue;
      volume.isMounted = !volume.isMounted;
      this.#count('actual_state_of_world', volume.plugin, volume.isMounted ? 1 : -1);
      if (volume.isMeasured) continue;
      volume.isMeasured = true;
      const labels = { plugin_name: volume.plugin, operation_name: 'overall_volume_mount' };
      volumeOperationTotal.observe((this.#clock.monotonic() - volume.desiredAtMs) / 1000, labels);
    }
  }

  /** Whether all volumes of the pod are mounted, as far as tasks have reported. */
  areAllMounted(uid: PodUID): boolean {
    return (
      this.#pods
        .get(uid)
        ?.values()
        .every(({ isMounted }) => isMounted) ?? true
    );
  }

  /** Removes the desired volumes: none of the pod's containers runs any more. */
  removeDesired(uid: PodUID): void {
    for (const volume of this.#pods.get(uid)?.values() ?? []) {
      if (volume.isDesired) this.#count('desired_state_of_world', volume.plugin, -1);
      volume.isDesired = false;
    }
  }

  /** Removes the pod: its volumes are unmounted. */
  removePod(uid: PodUID): void {
    this.removeDesired(uid);
    this.setMounted(uid, []);
    this.#pods.delete(uid);
  }

  /** Like upstream, a count of zero has no series. */
  #count(state: VolumeState, plugin: string, by: 1 | -1): void {
    const labels = { plugin_name: plugin, state };
    const key = `${state} ${plugin}`;
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#counts.set(key, count);
    if (count > 0) totalVolumes.set(count, labels);
    else totalVolumes.remove(labels);
  }
}

/** Like upstream, `N/A` for a volume without a plugin. */
function pluginOf(volume: Volume): string {
  try {
    return volumeKinds[volumeKind(volume).kind].plugin;
  } catch {
    return 'N/A';
  }
}
