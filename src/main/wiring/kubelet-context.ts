/** What every part of the composition (kubelet.ts and the files it is made of) is put together with. */
import type { Logger } from '../../shared/log/logger.ts';
import type { EarlyThreads } from './early-threads.ts';
import type { KubeletOptions } from '../cli/options.ts';
import type { Shutdown } from '../shutdown.ts';

export interface KubeletContext {
  readonly options: KubeletOptions;
  readonly nodeName: string;
  /** With the state that all threads share. */
  readonly threads: EarlyThreads;
  readonly log: (component: string) => Logger;
  readonly shutdown: Shutdown;
  /** Aborts when the kubelet is to stop. */
  readonly signal: AbortSignal;
}
