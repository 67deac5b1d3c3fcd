/**
 * Waits until systemd's jobs end. The D-Bus signal of a job's end may arrive before the reply that names the job. So, while a call for a unit is
 * under way, the results of all jobs of that unit are kept.
 */
import type { Clock } from '../../../../shared/time/clock.ts';

interface Wait {
  readonly unit: string;
  /** Results by job: the jobs of the unit that ended before `job` was known. */
  readonly ended: Map<string, string>;
  /** The job's object path. Undefined until the reply arrives. */
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
    // A failure before the `await` below must not become an unhandled rejection.
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
