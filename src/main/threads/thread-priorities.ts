/**
 * Which of the kubelet's threads goes first where cores are few. Everything waits for main, and main never works for long: where it is allowed
 * it runs in real time, so that a host whose cores are all taken, by a burst of starts or by its pods, neither delays what main hands out nor
 * the lease by which the node is Ready. Where only nice values may be set it goes before the threads that it starts. (Upstream has
 * neither.) A thread that nobody waits for loads when no other needs the core.
 */
import { niceOfThisThread, setNiceOfThisThread } from '../../shared/thread/nice.ts';
import { enterRealTime, leaveRealTime } from '../../shared/thread/real-time.ts';

/** Some three times the share of the core that each of the others has. */
const mainAheadBy = 5;
/** How far behind the others a thread loads: nobody waits for it (a tenth of their share), or not yet (half of it). */
const behindBy = { none: 10, later: 3, now: 0 };

/** Whether somebody waits for a thread to have loaded. */
export type Awaiting = keyof typeof behindBy;

/** Of main: in real time, before the threads that it starts, or like them. */
export type MainPriority = 'realTime' | 'ahead' | 'normal';

export class ThreadPriorities {
  /** Of a thread at work: what the process was started with. */
  readonly normal = niceOfThisThread();
  #raised: MainPriority = 'normal';

  /** Called on main, once, before it starts threads. What was allowed is the answer. */
  raiseMain(): MainPriority {
    const isAhead = setNiceOfThisThread(this.normal - mainAheadBy);
    this.#raised = enterRealTime() ? 'realTime' : isAhead ? 'ahead' : 'normal';
    return this.#raised;
  }

  /** Makes a thread: a thread begins with its maker's priority, and takes the normal one when it has loaded (`enterThread`). */
  making<T>(make: () => T, awaited: Awaiting = 'now'): T {
    if (this.#raised === 'normal') return make();
    if (this.#raised === 'realTime') leaveRealTime();
    setNiceOfThisThread(this.normal + behindBy[awaited]);
    try {
      return make();
    } finally {
      this.raiseMain();
    }
  }
}
