/**
 * All sandboxes, or all containers, that the runtime is known to have: compared with a list by its bytes, and shown to the other threads in
 * the snapshot. What an item's news means for its pod is not known here.
 */
import { scanList, type ListLayout } from '../../../shared/cri/list-scanner.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { RuntimeSnapshotWriter } from '../../../shared/state/runtime-snapshot.ts';
import { ItemIndex, maxIdBytes } from './item-index.ts';
import { ListDifference } from './list-difference.ts';
import { plegStateOf, type Item } from './pod-record.ts';
import { toSnapshotItem, toSnapshotState } from './snapshot-item.ts';

/** Told of what was left out of the records or the snapshot, and why. */
export type OnLeftOut = (id: string, reason: string) => void;

export interface KnownItemsOptions {
  readonly layout: ListLayout;
  readonly snapshot: RuntimeSnapshotWriter;
  readonly onLeftOut: OnLeftOut;
}

export class KnownItems<T extends Item> {
  readonly #options: KnownItemsOptions;
  readonly #index = new ItemIndex<T>();
  readonly #difference = new ListDifference<T>(this.#index);
  /** The number of the last list; a new item counts as seen in it. */
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

  /** Adds one to `counts[state]` for each; a state that `counts` does not reach counts as its last. */
  countRawStates(counts: number[]): void {
    this.#index.countRawStates(counts);
  }

  /** Compares a whole list with what is known, and changes nothing. Throws ListScanError for bytes that are no list. */
  compare(messages: readonly Uint8Array[], relist: number): ListDifference<T> {
    this.#relist = relist;
    this.#difference.begin(relist);
    for (const message of messages) scanList(this.#options.layout, message, this.#difference);
    return this.#difference;
  }

  /** Lets go of the compared list: the new items' bytes keep the whole replies in memory. */
  release(): void {
    this.#difference.begin(this.#relist);
  }

  /** The next slot, at `from` or after it, whose item the last list lacks; −1: no more. */
  nextMissing(from: number): number {
    return this.#index.nextUnseen(from, this.#relist);
  }

  at(slot: number): T {
    return this.#index.item(slot);
  }

  /** Takes a new item in and answers with it, or with the one that has its ID already; undefined when it can't be kept. It is not shown yet. */
  add(item: T, nowMs: number): T | undefined {
    const problem = problemOf(item.id);
    if (problem !== null) {
      this.#options.onLeftOut(item.id, problem);
      return undefined;
    }
    const known = this.#index.get(item.id);
    if (known) return known;
    item.newsAtMs = nowMs;
    item.slot = this.#index.add(item.id, item.rawState, item);
    // Else it would be missing in the list that has just brought it.
    this.#index.see(item.slot, this.#relist);
    return item;
  }

  /** Shows an item in the snapshot, unless it is gone or shown already. More must be known of it than that it was made: others act on its age. */
  show(item: T): void {
    if (item.slot < 0 || item.row !== undefined) return;
    const { snapshot, onLeftOut } = this.#options;
    try {
      item.row = snapshot.add(toSnapshotItem(item));
      if (item.row === undefined) onLeftOut(item.id, `the snapshot is full: ${snapshot.capacity} rows`);
    } catch (err) {
      onLeftOut(item.id, messageOf(err));
    }
  }

  /** Of an item that is here. */
  setRawState(item: T, rawState: number): void {
    item.rawState = rawState;
    item.state = plegStateOf(item.kind, rawState);
    this.#index.setRawState(item.slot, rawState);
    if (item.row !== undefined) this.#options.snapshot.setState(item.row, toSnapshotState(item));
  }

  /** Of an item that is here; its pod's record may keep it. */
  remove(item: T): void {
    this.#index.remove(item.slot);
    if (item.row !== undefined) this.#options.snapshot.remove(item.row);
    item.slot = -1;
    item.row = undefined;
    item.state = 'nonExistent';
  }
}

/** Null: it can be found again in a list. */
function problemOf(id: string): string | null {
  const bytes = Buffer.byteLength(id);
  if (bytes === 0 || bytes > maxIdBytes) return `an ID of ${bytes} bytes, where 1 to ${maxIdBytes} are known to be right`;
  return id.includes('\uFFFD') ? 'an ID that is no UTF-8' : null;
}
