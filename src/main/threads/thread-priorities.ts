/**
 * Which of the kubelet's threads goes first where cores are few. Everything waits for main, and main never works for long: where it is allowed
 * it runs in real time, so that a host whose cores are all taken, by a burst of starts or by its pods, neither delays what main hands out nor
 * the lease by which the node is Ready. Where only nice values may be set it goes before the threads that it starts. (Upstream has neither.)
 */
import { niceOfThisThread, setNiceOfThisThread } from '../../shared/thread/nice.ts';
import { enterRealTime } from '../../shared/thread/real-time.ts';

/** Some three times the share of the core that each of the others has. */
const mainAheadBy = 5;

/** Of main: in real time, before the threads that it starts, or like them. */
export type MainPriority = 'realTime' | 'ahead' | 'normal';

export class ThreadPriorities {
  /** Of every other thread, once it has loaded (`enterThread`): what the process was started with. */
  readonly normal = niceOfThisThread();
  #raised: MainPriority = 'normal';

  /** Called on main, once, before it starts threads. What was allowed is the answer. */
  raiseMain(): MainPriority {
    const isAhead = setNiceOfThisThread(this.normal - mainAheadBy);
    this.#raised = enterRealTime() ? 'realTime' : isAhead ? 'ahead' : 'normal';
    return this.#raised;
  }

  /**
   * Makes a thread. One that main makes in real time begins like any of the host's; else it begins with its maker's nice value, which main
   * lays down meanwhile. Real time is never left for it: on a busy host main would have to wait for its turn, 15 ms a thread.
   */
  making<T>(make: () => T): T {
    if (this.#raised !== 'ahead') return make();
    setNiceOfThisThread(this.normal);
    try {
      return make();
    } finally {
      setNiceOfThisThread(this.normal - mainAheadBy);
    }
  }
}
