/**
 * Waits for the ends of systemd's jobs. The signal of a job's end may be read before the reply with the job's name, so the ends of jobs of a
 * unit are kept while a call for that unit is under way.
 */
import type { Clock } from '../../../../shared/time/clock.ts';

interface Wait {
  readonly unit: string;
  /** Results by job. */
  readonly ended: Map<string, string>;
  job: string | undefined;
  readonly finish: (result: string) => void;
  readonly fail: (err: Error) => void;
}

export class JobWaits {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #waits = new Set<Wait>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs a call that returns the object path of a job, and waits for its result `done`. Rejects for any other result. */
  async run(unit: string, start: () => Promise<string>): Promise<void> {
    const { promise, resolve: finish, reject: fail } = Promise.withResolvers<string>();
    promise.catch(() => {});
    const wait: Wait = { unit, ended: new Map(), job: undefined, finish, fail };
    this.#waits.add(wait);
    const cancel = this.#clock.after(this.#timeoutMs, () =>
      fail(new Error(`systemd did not finish the job of ${unit} within ${this.#timeoutMs} ms`)),
    );
    try {
      wait.job = await start();
      const result = wait.ended.get(wait.job) ?? (await promise);
      if (result !== 'done') throw new Error(`systemd ended the job of ${unit} with the result ${JSON.stringify(result)}`);
    } finally {
      cancel();
      this.#waits.delete(wait);
    }
  }

  /** The body of the signal JobRemoved: id, job, unit, result. */
  onJobRemoved([, job, unit, result]: readonly unknown[]): void {
    if (typeof job !== 'string' || typeof result !== 'string') return;
    for (const wait of this.#waits) {
      if (wait.unit !== unit) continue;
      if (wait.job === job) wait.finish(result);
      else if (wait.job === undefined) wait.ended.set(job, result);
    }
  }

  /** Fails all waits. */
  fail(err: Error): void {
    for (const wait of this.#waits) wait.fail(err);
  }
}
