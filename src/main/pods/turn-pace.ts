/**
 * Lets few go on in each turn of the event loop, those with something urgent first. A kubelet that starts beside a hundred running pods has a
 * hundred syncs to send away: each costs a millisecond or three, and all in one turn would hold up the node's lease, the API server's answers
 * and the one pod that is new for a second.
 */
/** So many, and the loop comes round within some ten milliseconds. */
const perTurn = 4;

export class TurnPace {
  #granted = 0;
  #isCounting = false;
  readonly #urgent: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  /** Resolves at once for the first few of a turn, for all others in a later one. */
  async turn(isUrgent: boolean): Promise<void> {
    if (this.#granted < perTurn && this.#urgent.length + this.#others.length === 0) return this.#grant();
    const { promise, resolve } = Promise.withResolvers<void>();
    (isUrgent ? this.#urgent : this.#others).push(resolve);
    await promise;
  }

  #grant(): void {
    this.#granted += 1;
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#granted = 0;
    this.#isCounting = false;
    while (this.#granted < perTurn) {
      const next = this.#urgent.shift() ?? this.#others.shift();
      if (!next) return;
      this.#grant();
      next();
    }
  }
}
