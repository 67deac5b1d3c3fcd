/** The options that kubelet.ts passes to every part of this folder. */
import type { Clock } from '../../shared/time/clock.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { EarlyThreads } from './early-threads.ts';
import type { KubeletOptions } from '../config/options.ts';
import type { PodLifecycleObservers } from '../pods/lifecycle/pod-lifecycle-observers.ts';
import type { Shutdown } from '../shutdown.ts';

export interface KubeletContext {
  readonly options: KubeletOptions;
  readonly nodeName: string;
  readonly threads: EarlyThreads;
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly log: (component: string) => Logger;
  readonly shutdown: Shutdown;
  /** Each part that follows the lives of pods registers itself. */
  readonly podLifecycle: PodLifecycleObservers;
  /** Aborts when the kubelet must stop. */
  readonly signal: AbortSignal;
}
