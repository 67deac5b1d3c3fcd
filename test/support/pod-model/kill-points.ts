/** The points at which a kubelet may be killed: before and after each write of a checkpoint or a cgroup, and each call that starts, stops or resizes. */
export class KillPoints {
  #left = Infinity;
  #kill: () => void = () => {};

  /** Kills when `count` points have passed. */
  arm(count: number, kill: () => void): void {
    this.#left = count;
    this.#kill = kill;
  }

  disarm(): void {
    this.#left = Infinity;
  }

  pass(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#kill();
  }
}
