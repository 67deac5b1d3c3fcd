/** Clean-ups that outlive a hook of node:test: those of `before`, which its own context would run too early, and those of a set-up that may fail halfway. */
type Cleanup = () => unknown;

export class Cleanups {
  readonly #cleanups: Cleanup[] = [];

  /** Adds a clean-up. Helpers take this object in place of a test's context. */
  readonly after = (clean: Cleanup): void => {
    this.#cleanups.push(clean);
  };

  /** Runs them, the newest first. One that fails does not keep the others from running; rejects with the first failure. */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (const clean of this.#cleanups.splice(0).toReversed()) {
      try {
        await clean();
      } catch (err) {
        failures.push(err);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
