/** The node's pressure conditions. The eviction manager sets them; the node status and admission read them. */
import type { PressureCondition } from '../../shared/contracts/eviction.ts';
import { Listeners } from '../../shared/concurrency/listeners.ts';

export class NodePressure {
  #conditions: ReadonlySet<PressureCondition> = new Set();
  readonly #listeners = new Listeners();

  get conditions(): ReadonlySet<PressureCondition> {
    return this.#conditions;
  }

  has(condition: PressureCondition): boolean {
    return this.#conditions.has(condition);
  }

  /** Returns a function that removes the listener. */
  onChanged(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Returns whether a condition has changed. */
  set(conditions: ReadonlySet<PressureCondition>): boolean {
    const hasChanged = conditions.symmetricDifference(this.#conditions).size > 0;
    this.#conditions = conditions;
    if (hasChanged) this.#listeners.notify();
    return hasChanged;
  }
}
