/**
 * The known sandboxes, or the known containers, of the runtime. Compares them with a list by its bytes, and publishes them in the
 * snapshot for other threads. The consequences of a change for the pod are decided by PodRecords.
 */
import { scanList, type ListLayout } from '../../../shared/cri/list-scanner.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { RuntimeSnapshotWriter } from '../../../shared/state/runtime-snapshot.ts';
import { ItemIndex, maxIdBytes } from './item-index.ts';
import { ListDifference } from './list-difference.ts';
import { plegStateOf, type Item } from './pod-record.ts';
import { toSnapshotItem, toSnapshotState } from './snapshot-item.ts';

/** Called for each item that the records or the snapshot skip. */
export type OnSkipped = (id: string, reason: string) => void;

export interface KnownItemsOptions {
  readonly layout: ListLayout;
  readonly snapshot: RuntimeSnapshotWriter;
  readonly onSkipped: OnSkipped;
}

export class KnownItems<T extends Item> {
  readonly #options: KnownItemsOptions;
  readonly #index = new ItemIndex<T>();
  readonly #difference = new ListDifference<T>(this.#index);
  /** The number of the latest list. New items count as seen in this list. */
  #relist = 0;

  constructor(options: KnownItemsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#index.size;
  }

  get(id: string): T | undefined {
    return this.#index.get(id);
  }

  /** Increments `counts[state]` for each item. States outside of `counts` count as its last. */
  countRawStates(counts: number[]): void {
    this.#index.countRawStates(counts);
  }

  /** Compares a complete list with the known items, without changing them. Throws ListScanError for malformed bytes. */
  compare(messages: readonly Uint8Array[], relist: number): ListDifference<T> {
    this.#relist = relist;
    this.#difference.begin(relist);
    for (const message of messages) scanList(this.#options.layout, message, this.#difference);
    return this.#difference;
  }

  /** Releases the compared list, because the bytes of its new items keep the whole replies in memory. */
  release(): void {
    this.#difference.begin(this.#relist);
  }

  /** Returns the next slot from `from` on whose item is missing in the latest list, or −1. */
  nextMissing(from: number): number {
    return this.#index.nextUnseen(from, this.#relist);
  }

  at(slot: number): T {
    return this.#index.item(slot);
  }

  /**
   * Adds an item and returns it, or returns the known item with the same ID. Undefined when the ID is invalid. The snapshot does not show
   * the item yet.
   */
  add(item: T, nowMs: number): T | undefined {
    const problem = idError(item.id);
    if (problem !== null) {
      this.#options.onSkipped(item.id, problem);
      return undefined;
    }
    const known = this.#index.get(item.id);
    if (known) return known;
    item.updatedAtMs = nowMs;
    item.slot = this.#index.add(item.id, item.rawState, item);
    // Otherwise the item would count as missing in the list that contains it.
    this.#index.markSeen(item.slot, this.#relist);
    return item;
  }

  /**
   * Publishes an item in the snapshot unless it is removed. Updates the image of an item that the snapshot already has, since lists may name the image by its
   * ID only. The caller must know the item's creation time, because other threads use the item's age.
   */
  publish(item: T): void {
    if (item.slot < 0) return;
    const { snapshot, onSkipped } = this.#options;
    try {
      if (item.row !== undefined) return snapshot.setImage(item.row, toSnapshotItem(item).image);
      item.row = snapshot.add(toSnapshotItem(item));
      if (item.row === undefined) onSkipped(item.id, `the snapshot is full: ${snapshot.capacity} rows`);
    } catch (err) {
      onSkipped(item.id, messageOf(err));
    }
  }

  /** The item must not be removed. */
  setRawState(item: T, rawState: number): void {
    item.rawState = rawState;
    item.state = plegStateOf(item.kind, rawState);
    this.#index.setRawState(item.slot, rawState);
    if (item.row !== undefined) this.#options.snapshot.setState(item.row, toSnapshotState(item));
  }

  /** The item must not be removed already. Its pod's record may keep it. */
  remove(item: T): void {
    this.#index.remove(item.slot);
    if (item.row !== undefined) this.#options.snapshot.remove(item.row);
    item.slot = -1;
    item.row = undefined;
    item.state = 'nonExistent';
  }
}

/** Returns why a later list cannot be matched with this ID, or null. */
function idError(id: string): string | null {
  const bytes = Buffer.byteLength(id);
  if (bytes === 0 || bytes > maxIdBytes) return `an ID of ${bytes} bytes, where 1 to ${maxIdBytes} are known to be right`;
  return id.includes('\uFFFD') ? 'an ID that is no UTF-8' : null;
}
