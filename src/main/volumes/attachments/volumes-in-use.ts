/**
 * The Node's `status.volumesInUse`: what it has to list, and which of that the API server has acknowledged. Nothing is written before all records on disk are read. A
 * volume stays from the moment a pod wants it until it is known to be unstaged, across restarts.
 */
import { Listeners } from '../../../shared/concurrency/listeners.ts';
import type { VolumeOnNode, VolumeOnNodeNotification } from '../../../shared/contracts/volumes.ts';
import { uniqueVolumeName } from '../../../shared/kubernetes/attachment-names.ts';
import { computeVolumesInUse, noLeftMounts, type LeftMounts, type ListedVolumes } from './compute-volumes-in-use.ts';

/** The part of the Node's status that counts here. */
export interface StatusWithVolumes {
  readonly volumesInUse?: readonly string[] | null;
  readonly volumesAttached?: readonly { readonly name: string }[] | null;
}

/** A volume of a pod. */
export type VolumeOwner = string & { readonly __brand: 'VolumeOwner' };

export function volumeOwner(podUID: string, specName: string): VolumeOwner {
  return `${podUID}/${specName}` as VolumeOwner;
}

export class VolumesInUse {
  /** The volumes on this node, by unique name: whether their records say that they need an attachment. Null: the records on disk are not read yet. */
  #onNode: Map<string, boolean> | null = null;
  #areRecordsLost = false;
  readonly #wanted = new Map<VolumeOwner, string>();
  /** The volumes that have left this node, and that the Node may still list. */
  readonly #ended = new Set<string>();
  /** Volumes that are being unstaged, by unique name. */
  readonly #unused = new Set<string>();
  /** What the Node of the API server lists. */
  #listed: ReadonlySet<string> = new Set();
  /** The used volumes that the API server's Node lists. */
  #acknowledged: ReadonlySet<string> = new Set();
  readonly #changed = new Listeners();
  readonly #acknowledgements = new Listeners();
  readonly #releases = new Listeners();

  /** Called when the list has changed. */
  onChanged(listener: () => void): void {
    this.#changed.add(listener);
  }
  /** Called after each report of the Node's status. */
  onReported(listener: () => void): void {
    this.#acknowledgements.add(listener);
  }

  /** Called instead of `receive` when there are no records on disk. */
  setEmpty(): void {
    this.#setOnNode([], false);
  }

  receive(notification: VolumeOnNodeNotification): void {
    if (notification.type === 'recovered') this.#setOnNode(notification.volumes, notification.areRecordsLost);
    else if (notification.type === 'added') this.#add(notification.volume);
    else if (notification.type === 'unused') this.#unused.add(nameOf(notification.volume));
    else this.#remove(nameOf(notification.volume));
    this.#releases.notify();
  }

  /** Resolves when all volumes that no pod uses are unstaged, and the API server does not list them any more. The signal ends the wait. */
  async untilUnusedReleased(signal: AbortSignal): Promise<void> {
    const areReleased = () => this.#unused.size === 0 && this.#ended.isDisjointFrom(this.#listed);
    while (!areReleased() && !signal.aborted) await this.#releases.next(signal);
  }

  /** Called when the pod waits for the volume, or uses it. */
  want(owner: VolumeOwner, name: string): void {
    const previous = this.#wanted.get(owner);
    if (previous === name) return;
    this.#wanted.set(owner, name);
    if (previous !== undefined) this.#dropIfUnused(previous);
    this.#changed.notify();
  }

  /** Called when the pod does not use the volume any more. The volume stays listed while it is on the node. */
  release(owner: VolumeOwner): void {
    const name = this.#wanted.get(owner);
    if (name === undefined || !this.#wanted.delete(owner)) return;
    this.#dropIfUnused(name);
    this.#changed.notify();
  }

  /** The pods' volumes of this name. */
  ownersOf(name: string): VolumeOwner[] {
    return [...this.#wanted].flatMap(([owner, wanted]) => (wanted === name ? [owner] : []));
  }

  /** Whether a pod wants the volume, or it is on the node. */
  isUsed(name: string): boolean {
    return this.#used().has(name);
  }

  /** The value for the Node's status. Null: it stays as it is, because what is mounted is not known. */
  list(status: StatusWithVolumes, left: LeftMounts | null): readonly string[] | null {
    const onNode = this.#onNode;
    if (!onNode || !left) return null;
    const listed: ListedVolumes = { inUse: status.volumesInUse ?? [], attached: (status.volumesAttached ?? []).map(({ name }) => name) };
    for (const name of this.#ended) if (!listed.inUse.includes(name)) this.#ended.delete(name);
    const csi = left.csi || this.#areRecordsLost;
    return computeVolumesInUse({ listed, onNode, wanted: this.#wanted.values(), ended: this.#ended, left: { ...left, csi } });
  }

  /**
   * Called when the API server has the Node's status. Only used volumes are acknowledged: a status without a volume that is no longer used may be
   * on its way, so a pod that wants the volume again must wait for the status after that.
   */
  reported({ volumesInUse }: StatusWithVolumes): void {
    this.#listed = new Set(volumesInUse ?? []);
    this.#acknowledged = this.#listed.intersection(this.#used());
    this.#acknowledgements.notify();
    this.#releases.notify();
  }

  /** Called when the Node has changed. Another writer, or a write that was thought to be lost, may have removed a name: the name is added again at once. */
  onNodeChange(status: StatusWithVolumes): void {
    this.#listed = new Set(status.volumesInUse ?? []);
    this.#acknowledged = this.#acknowledged.intersection(this.#listed);
    const needed = this.list(status, noLeftMounts) ?? [];
    if (needed.some((name) => !this.#listed.has(name))) this.#changed.notify();
    this.#releases.notify();
  }

  /** Whether the API server knows that this node uses the volume. */
  isReported(name: string): boolean {
    return this.#acknowledged.has(name);
  }

  #setOnNode(volumes: readonly VolumeOnNode[], areRecordsLost: boolean): void {
    const before = this.#onNode ?? new Map<string, boolean>();
    this.#onNode = new Map(volumes.map((volume) => [nameOf(volume), volume.needsAttachment]));
    for (const name of this.#unused) if (!this.#onNode.has(name)) this.#unused.delete(name);
    this.#areRecordsLost ||= areRecordsLost;
    for (const name of before.keys()) this.#dropIfUnused(name);
    this.#changed.notify();
  }

  #add(volume: VolumeOnNode): void {
    const name = nameOf(volume);
    this.#ended.delete(name);
    this.#unused.delete(name);
    if (this.#onNode?.get(name) === volume.needsAttachment) return;
    this.#onNode?.set(name, volume.needsAttachment);
    this.#changed.notify();
  }

  #remove(name: string): void {
    this.#unused.delete(name);
    if (!this.#onNode?.delete(name)) return;
    this.#dropIfUnused(name);
    this.#changed.notify();
  }

  #dropIfUnused(name: string): void {
    if (this.#used().has(name)) return;
    this.#ended.add(name);
    this.#acknowledged = this.#acknowledged.difference(new Set([name]));
  }

  #used(): Set<string> {
    return new Set([...this.#wanted.values(), ...(this.#onNode?.keys() ?? [])]);
  }
}

function nameOf({ driver, volumeHandle }: VolumeOnNode): string {
  return uniqueVolumeName(driver, volumeHandle);
}
