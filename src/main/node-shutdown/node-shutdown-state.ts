/** Whether the node is shutting down. The shutdown manager sets it; the node status and admission read it. */
import { Listeners } from '../../shared/concurrency/listeners.ts';

export class NodeShutdownState {
  #isShuttingDown = false;
  readonly #listeners = new Listeners();

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** The problem that the Ready condition shows; null when the node is not shutting down. */
  get problem(): string | null {
    return this.#isShuttingDown ? 'node is shutting down' : null;
  }

  onChanged(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  set(isShuttingDown: boolean): void {
    if (isShuttingDown === this.#isShuttingDown) return;
    this.#isShuttingDown = isShuttingDown;
    this.#listeners.notify();
  }
}
