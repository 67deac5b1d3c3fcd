/** Whether the node is shutting down. The shutdown manager sets it; the node status and admission read it. */
export class NodeShutdownState {
  #isShuttingDown = false;
  readonly #listeners: (() => void)[] = [];

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** The problem that the Ready condition shows; null when the node is not shutting down. */
  get problem(): string | null {
    return this.#isShuttingDown ? 'node is shutting down' : null;
  }

  onChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  set(isShuttingDown: boolean): void {
    if (isShuttingDown === this.#isShuttingDown) return;
    this.#isShuttingDown = isShuttingDown;
    for (const listener of this.#listeners) listener();
  }
}
