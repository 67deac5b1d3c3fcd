/**
 * In what a list differs from what is known: items whose state changed, and the bytes of those that are new. What is missing in it
 * the index tells. Made once and used for every relist: where nothing differs, no object is made.
 */
import type { ListVisitor } from '../../../shared/cri/list-scanner.ts';
import type { ItemIndex } from './item-index.ts';

export class ListDifference<out T> implements ListVisitor {
  readonly #index: ItemIndex<T>;
  readonly #changedItems: T[] = [];
  readonly #changedStates: number[] = [];
  readonly #added: Uint8Array[] = [];
  #relist = 0;

  constructor(index: ItemIndex<T>) {
    this.#index = index;
  }

  /** Forgets the last list's. */
  begin(relist: number): void {
    this.#relist = relist;
    this.#changedItems.length = 0;
    this.#changedStates.length = 0;
    this.#added.length = 0;
  }

  item(bytes: Uint8Array, idStart: number, idEnd: number, _: number, __: number, state: number, start: number, end: number): void {
    const slot = this.#index.find(bytes, idStart, idEnd);
    if (slot < 0) {
      this.#added.push(bytes.subarray(start, end));
      return;
    }
    this.#index.see(slot, this.#relist);
    if (this.#index.rawState(slot) === state) return;
    this.#changedItems.push(this.#index.item(slot));
    this.#changedStates.push(state);
  }

  get changedCount(): number {
    return this.#changedItems.length;
  }

  changedItem(i: number): T {
    return this.#changedItems[i]!;
  }

  changedState(i: number): number {
    return this.#changedStates[i]!;
  }

  get added(): readonly Uint8Array[] {
    return this.#added;
  }
}
