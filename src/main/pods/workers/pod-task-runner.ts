/** The one task of a pod that is in flight, and how long tasks take. */
import { failedResult, type PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import { podWorkerDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import type { PodSyncRun } from '../../threads/pod-sync-pool.ts';

/** Upstream's names of what a worker does (kubetypes.SyncPodType), by task. */
const operationTypes: Readonly<Record<PodTask['kind'], string>> = {
  sync: 'sync',
  terminating: 'kill',
  terminated: 'terminated',
  cleanUp: 'cleanup',
};

export class PodTaskRunner {
  readonly #pool: { run(task: PodTask): PodSyncRun };
  readonly #clock: Clock;
  #inFlight: PodSyncRun | null = null;

  constructor(pool: { run(task: PodTask): PodSyncRun }, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Never rejects: a task that was lost for good has failed. */
  async run(task: PodTask): Promise<PodSyncResult> {
    const beganAtMs = this.#clock.monotonic();
    const run = this.#pool.run(task);
    this.#inFlight = run;
    try {
      return await run.result;
    } catch (err) {
      return failedResult(err);
    } finally {
      this.#inFlight = null;
      podWorkerDuration.observe((this.#clock.monotonic() - beganAtMs) / 1000, { operation_type: operationTypes[task.kind] });
    }
  }

  /** What is in flight ends as soon as nothing is left half done. */
  stop(podEnds: boolean): void {
    this.#inFlight?.stop(podEnds);
  }

  shrinkGracePeriod(gracePeriodSeconds: number): void {
    this.#inFlight?.shrinkGracePeriod(gracePeriodSeconds);
  }
}
