/** What the facade of every thread is given. */
import type { Logger } from '../../shared/log/logger.ts';
import type { ThreadBirth } from '../../shared/contracts/thread.ts';
import type { ThreadState } from './shared-thread-state.ts';

export interface ThreadDependencies {
  readonly state: ThreadState;
  /** Already a child for this component. */
  readonly logger: Logger;
}

/** What of a birth the composition root states: all but what every thread gets, and the ports, which are made at each birth. */
export type Settings<Birth extends ThreadBirth, Ports extends keyof Birth = never> = Omit<Birth, keyof ThreadBirth | Ports>;
