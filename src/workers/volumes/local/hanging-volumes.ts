/**
 * Local volumes whose filesystem did not answer in time. Each attempt leaves a process that hangs in the kernel, so the delay between attempts doubles: other
 * volumes need the processes.
 */
import { goDuration } from '../../../shared/kubernetes/go-text.ts';
import type { Clock } from '../../../shared/time/clock.ts';

const firstDelayMs = 60_000;
const maxDelayMs = 60 * 60_000;

export class HangingVolumes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By the name of the persistent volume. Times are monotonic ms; `untilMs`: no attempt before. */
  readonly #volumes = new Map<string, { readonly sinceMs: number; readonly untilMs: number; readonly hangs: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Runs the call, unless the volume hangs. Rejects as the call does, or with an Error that says since when. */
  async run<T>(specName: string, call: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonic();
    const known = this.#volumes.get(specName);
    if (known && known.untilMs > nowMs)
      throw new Error(
        `the filesystem has not answered for ${goDuration(Math.floor(nowMs - known.sinceMs))}; next attempt in ${goDuration(Math.ceil(known.untilMs - nowMs))}`,
      );
    try {
      const result = await call();
      this.#volumes.delete(specName);
      return result;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ETIMEDOUT') {
        const hangs = known?.hangs ?? 0;
        const untilMs = this.#clock.monotonic() + Math.min(firstDelayMs * 2 ** hangs, maxDelayMs);
        this.#volumes.set(specName, { sinceMs: known?.sinceMs ?? nowMs, untilMs, hangs: hangs + 1 });
      }
      throw err;
    }
  }

  /** The volume is not on this node any more. */
  forget(specName: string): void {
    this.#volumes.delete(specName);
  }
}
