/**
 * What is staged and published on this node, by CSI volume: the actual state. The table begins with the records on disk, and each call updates it. A volume
 * whose record is not complete may be mounted: the volume counts as mounted until its unstage has succeeded.
 */

import type { VolumeOnNode, VolumeOnNodeNotification } from '../../shared/contracts/volumes.ts';

/** A volume handle of a driver. Two persistent volumes with the same handle are one volume. */
export type VolumeKey = string & { readonly __brand: 'VolumeKey' };

/** `uncertain`: a call has begun, and is not known to have succeeded. */
export type CallState = 'uncertain' | 'complete';

export interface KnownVolume extends VolumeOnNode {
  needsAttachment: boolean;
  /** Undefined: not staged, or the driver does not stage volumes. */
  staged: CallState | undefined;
  /** By target path. */
  readonly published: Map<string, CallState>;
  /** The number of publish requests that wait or are under way. */
  expected: number;
}

export function volumeKey(driver: string, volumeHandle: string): VolumeKey {
  return `${driver}^${volumeHandle}` as VolumeKey;
}

export class VolumeTable {
  readonly #volumes = new Map<VolumeKey, KnownVolume>();
  /**
   * True: a volume is mounted for a pod, and its record is lost. It may be any volume, so no volume is unstaged that this kubelet has not itself published or
   * unpublished.
   */
  hasLostRecords = false;
  /** True: the record of a staged volume is lost, so any volume may be staged. */
  hasLostStages = false;
  #post: ((notification: VolumeOnNodeNotification) => void) | undefined;

  get(driver: string, volumeHandle: string): KnownVolume {
    const key = volumeKey(driver, volumeHandle);
    const known = this.#volumes.get(key) ?? {
      driver,
      volumeHandle,
      needsAttachment: false,
      staged: undefined,
      published: new Map<string, CallState>(),
      expected: 0,
    };
    this.#volumes.set(key, known);
    return known;
  }

  /** Returns undefined for a volume that is not on the node. */
  find(driver: string, volumeHandle: string): KnownVolume | undefined {
    return this.#volumes.get(volumeKey(driver, volumeHandle));
  }

  /** Posts what is on the node now, and each change from now on: call this when all records are read. */
  report(post: (notification: VolumeOnNodeNotification) => void): void {
    this.#post = post;
    post({
      type: 'recovered',
      volumes: [...this.#volumes.values()].map(toVolumeOnNode),
      areRecordsLost: this.hasLostRecords || this.hasLostStages,
    });
  }

  /** Call this before the first call for the volume. */
  announce(volume: KnownVolume, needsAttachment: boolean): void {
    volume.needsAttachment ||= needsAttachment;
    this.#post?.({ type: 'added', volume: toVolumeOnNode(volume) });
  }

  /** Call this when the volume is to be unstaged. */
  release(volume: KnownVolume): void {
    this.#post?.({ type: 'unused', volume: toVolumeOnNode(volume) });
  }

  /** Call this when an operation on the volume has ended. Drops the volume when it is not on the node any more. */
  settle(volume: KnownVolume): void {
    if (volume.staged !== undefined || volume.published.size > 0 || volume.expected > 0) return;
    const key = volumeKey(volume.driver, volume.volumeHandle);
    if (this.#volumes.get(key) !== volume) return;
    this.#volumes.delete(key);
    this.#post?.({ type: 'removed', volume: toVolumeOnNode(volume) });
  }

  ofDriver(driver: string): KnownVolume[] {
    return [...this.#volumes.values()].filter((volume) => volume.driver === driver);
  }

  /** The number of volumes on the node. */
  get size(): number {
    return this.#volumes.size;
  }
}

function toVolumeOnNode({ driver, volumeHandle, needsAttachment }: KnownVolume): VolumeOnNode {
  return { driver, volumeHandle, needsAttachment };
}

/** Returns whether the volume is staged and no pod on this node uses it. Pure. */
export function shouldUnstage({ staged, published, expected }: Pick<KnownVolume, 'staged' | 'published' | 'expected'>): boolean {
  return staged !== undefined && published.size === 0 && expected === 0;
}
