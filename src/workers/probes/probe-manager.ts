/**
 * Runs all probes of the node, by pod (upstream prober_manager.go). Main decides what follows from their results. A fault in one pod's probes costs that pod
 * only.
 */
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { ProbedPod, ProbeNotification, ProbeSpec } from '../../shared/contracts/probes.ts';
import { contain } from '../../shared/faults/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { StartAttempt } from './actions/start-attempt.ts';
import { Notifier } from './notifier.ts';
import { PodProbes, type PodProbesDependencies } from './pod-probes.ts';
import { LoopDelay } from './schedule/loop-delay.ts';
import { RunLimiter, type RunLimits } from './schedule/run-limiter.ts';
import { TimerQueue } from './schedule/timer-queue.ts';
import { ProbeSeries } from './series/probe-series.ts';

export interface ProbeWorkersOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startAttempt: StartAttempt;
  readonly post: (notification: ProbeNotification) => void;
  readonly random?: () => number;
  readonly limits?: { readonly exec: RunLimits; readonly network: RunLimits };
}

/**
 * A command costs the runtime some ten milliseconds of CPU time, so more active commands would only wait for each other. A command that has run for half a
 * second mostly waits, and no longer counts as active. A connection costs a descriptor and some KiB and only waits, so network probes have no limit of
 * active runs. The limits of all runs and of those of a pod bound what the thread holds: many pods with many containers stay below them.
 */
const defaultLimits = {
  exec: { active: 32, overdueAfterMs: 500, total: 1024, perPod: 128, guaranteed: 8 },
  network: { active: Infinity, overdueAfterMs: Infinity, total: 2048, perPod: 256, guaranteed: 8 },
} as const;

export class ProbeWorkers {
  readonly #deps: PodProbesDependencies;
  readonly #pods = new Map<PodUID, PodProbes>();
  readonly #timers: TimerQueue;
  readonly series = new ProbeSeries();

  constructor({ clock, logger, startAttempt, post, random = Math.random, limits = defaultLimits }: ProbeWorkersOptions) {
    const loopDelay = new LoopDelay();
    const timers = new TimerQueue({ clock, logger, onFired: (lateMs) => loopDelay.observe(lateMs) });
    loopDelay.follow(timers);
    this.#timers = timers;
    const exec = new RunLimiter(limits.exec, timers);
    const network = new RunLimiter(limits.network, timers);
    const notifier = new Notifier(post);
    this.#deps = {
      clock,
      logger,
      timers,
      loopDelay,
      startAttempt,
      random,
      threadStartedAtMs: clock.monotonic(),
      series: this.series,
      limiter: ({ action }: ProbeSpec) => (action.type === 'exec' ? exec : network),
      onResult: (result) => notifier.result(result),
      onEvent: (event) => notifier.event(event),
    };
  }

  setPods(pods: readonly ProbedPod[]): void {
    for (const pod of pods) {
      contain({ handler: 'set probes', logger: this.#deps.logger, fields: { podUID: pod.uid } }, () => {
        const known = this.#pods.get(pod.uid);
        if (known) known.set(pod);
        else this.#pods.set(pod.uid, new PodProbes(this.#deps, pod));
      });
    }
  }

  removePods(uids: readonly PodUID[]): void {
    for (const uid of uids) {
      this.#pods.get(uid)?.stop();
      this.#pods.delete(uid);
    }
  }

  close(): void {
    this.removePods([...this.#pods.keys()]);
    this.#timers.close();
  }
}
