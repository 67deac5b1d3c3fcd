/** What the facade of every thread is given. */
import type { Logger } from '../../shared/log/logger.ts';
import type { ThreadWorkerData } from '../../shared/contracts/thread.ts';
import type { SharedThreadState } from './shared-thread-state.ts';

export interface ThreadDependencies {
  readonly state: SharedThreadState;
  /** Already a child for this component. */
  readonly logger: Logger;
}

/** What of a birth the composition root states: all but what every thread gets, and the ports, which are made at each birth. */
export type Settings<Birth extends ThreadWorkerData, Ports extends keyof Birth = never> = Omit<Birth, keyof ThreadWorkerData | Ports>;
