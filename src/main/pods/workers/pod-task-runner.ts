/** Runs the tasks of one pod in the sync pool, one at a time, and measures their duration. */
import { failedResult, type PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import { podWorkerDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodTimelines } from '../../timeline/index.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import type { PodSyncRun } from '../../threads/pod-sync-pool.ts';

/** Upstream's names of a worker's operations (kubetypes.SyncPodType), by task. */
const operationTypes: Readonly<Record<PodTask['kind'], string>> = {
  sync: 'sync',
  terminating: 'kill',
  terminated: 'terminated',
  cleanUp: 'cleanup',
};

export class PodTaskRunner {
  readonly #pool: { run(task: PodTask): PodSyncRun };
  readonly #clock: Clock;
  readonly #timelines: PodTimelines;
  #inFlight: PodSyncRun | null = null;

  constructor({ pool, clock, timelines }: { pool: { run(task: PodTask): PodSyncRun }; clock: Clock; timelines: PodTimelines }) {
    this.#pool = pool;
    this.#clock = clock;
    this.#timelines = timelines;
  }

  /** Never rejects: a task that the pool lost repeatedly has failed. */
  async run(task: PodTask): Promise<PodSyncResult> {
    const beganAtMs = this.#clock.monotonic();
    this.#timelines.end(task.podUID, 'Retry');
    this.#timelines.begin(task.podUID, 'Sync');
    const run = this.#pool.run(task);
    this.#inFlight = run;
    let failed = true;
    try {
      const result = await run.result;
      failed = result.outcome === 'failed';
      return result;
    } catch (err) {
      return failedResult(err);
    } finally {
      this.#timelines.end(task.podUID, 'Sync', { failed });
      this.#inFlight = null;
      podWorkerDuration.observe((this.#clock.monotonic() - beganAtMs) / 1000, { operation_type: operationTypes[task.kind] });
    }
  }

  /** Stops the task in flight at the next point where no step is half done. */
  stop(podEnds: boolean): void {
    this.#inFlight?.stop(podEnds);
  }

  shrinkGracePeriod(gracePeriodSeconds: number): void {
    this.#inFlight?.shrinkGracePeriod(gracePeriodSeconds);
  }
}
