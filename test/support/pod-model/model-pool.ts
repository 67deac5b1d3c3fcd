/** The sync pool of a modelled kubelet: runs the real tasks, loses them with a thread, and sends them again (threads/pod-sync-pool.ts). */
import type { ListPodCgroupsResult } from '../../../src/shared/contracts/pod-sync/cgroups.ts';
import { failedResult, type PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { PodSyncTask } from '../../../src/shared/contracts/pod-sync/task.ts';
import type { PodSyncRun } from '../../../src/main/threads/pod-sync-pool.ts';
import { TaskChannel, type PodTask, type TaskHandlers } from '../../../src/main/threads/task-channel.ts';
import type { Clock } from '../../../src/shared/time/clock.ts';
import type { PodSyncDependencies } from '../../../src/workers/pod-sync/pod/dependencies.ts';
import { runTask } from '../../../src/workers/pod-sync/pod/run-task.ts';
import { modelLogger } from './model-log.ts';
import { modelChannel } from './model-channel.ts';
import { Life } from './model-clock.ts';

export interface ModelPoolOptions {
  readonly kubelet: Life;
  readonly clock: Clock;
  /** The dependencies of a thread, which end with its life. */
  readonly dependencies: (life: Life) => PodSyncDependencies;
}

const resendDelayMs = 50;
const maxSends = 4;

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #inFlight = new Set<() => void>();

  constructor(options: ModelPoolOptions) {
    this.#options = options;
  }

  /** Only the modelled kubelets make cgroups, and each removes those of its pods. */
  async listPodCgroups(): Promise<ListPodCgroupsResult> {
    return { podUIDs: [] };
  }

  /** All threads die. */
  loseThreads(): void {
    for (const lose of this.#inFlight) lose();
  }

  run(task: PodTask, handlers: TaskHandlers): PodSyncRun {
    let channel: TaskChannel | null = null;
    let stopped: { readonly podEnds: boolean } | null = null;
    let gracePeriodSeconds = Infinity;
    const send = async (): Promise<PodSyncResult | 'lost'> => {
      const life = new Life();
      const { kubelet, dependencies } = this.#options;
      const sent = new TaskChannel(task, handlers, modelLogger, modelChannel());
      channel = sent;
      if (gracePeriodSeconds < Infinity) sent.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      if (stopped) sent.stop(stopped.podEnds);
      const lost = Promise.withResolvers<'lost'>();
      const lose = () => {
        life.end();
        sent.port.close();
        lost.resolve('lost');
      };
      this.#inFlight.add(lose);
      try {
        const message = structuredClone({ ...task, channel: null, hasSandboxPermit: sent.hasSandboxPermit }) as unknown as PodSyncTask;
        const reply = await Promise.race([kubelet.guard(life.guard(runTask(dependencies(life), message, sent.port))), lost.promise]);
        sent.close(reply === 'lost' ? undefined : reply.notifications);
        return reply === 'lost' ? reply : reply.result;
      } finally {
        this.#inFlight.delete(lose);
        channel = null;
      }
    };
    const sendUntilDone = async (): Promise<PodSyncResult> => {
      for (let sends = 1; sends <= maxSends; sends += 1) {
        const result = await send();
        if (result !== 'lost') return structuredClone(result);
        await this.#options.clock.sleep(resendDelayMs);
      }
      return failedResult(new Error('lost'), { reason: 'SyncThreadLost', backoffs: task.kind === 'sync' ? task.backoffs : [] });
    };
    return {
      result: sendUntilDone(),
      stop: (podEnds) => {
        stopped = { podEnds: podEnds || (stopped?.podEnds ?? false) };
        channel?.stop(stopped.podEnds);
      },
      shrinkGracePeriod: (seconds) => {
        gracePeriodSeconds = Math.min(seconds, gracePeriodSeconds);
        channel?.post({ type: 'shrinkGracePeriod', gracePeriodSeconds });
      },
    };
  }
}
