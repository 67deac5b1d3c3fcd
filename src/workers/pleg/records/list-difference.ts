/**
 * The difference between a list and the known items: items with a changed state, and the bytes of new items. The index finds the missing
 * items. One object serves all relists, so a list without changes allocates nothing.
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

  /** Clears the difference. */
  begin(relist: number): void {
    this.#relist = relist;
    this.#changedItems.length = 0;
    this.#changedStates.length = 0;
    this.#added.length = 0;
  }

  /** Does not use the range of the sandbox ID, which is in the fourth and fifth arguments. */
  item(bytes: Uint8Array, idStart: number, idEnd: number, _: number, __: number, state: number, start: number, end: number): void {
    const slot = this.#index.find(bytes, idStart, idEnd);
    if (slot < 0) {
      this.#added.push(bytes.subarray(start, end));
      return;
    }
    this.#index.markSeen(slot, this.#relist);
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
