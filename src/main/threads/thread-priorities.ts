/**
 * Which of the kubelet's threads goes first where cores are few. Everything waits for main, so it goes before the threads that it starts: when
 * a kubelet starts, eight of them load at once, and main would wait for its turn as long as it works. A thread that nobody waits for loads
 * when no other needs the core.
 */
import { niceOfThisThread, setNiceOfThisThread } from '../../shared/thread/nice.ts';

/** Some three times the share of the core that each of the others has. */
const mainAheadBy = 5;
/** How far behind the others a thread loads: nobody waits for it (a tenth of their share), or not yet (half of it). */
const behindBy = { none: 10, later: 3, now: 0 };

/** Whether somebody waits for a thread to have loaded. */
export type Awaiting = keyof typeof behindBy;

export class ThreadPriorities {
  /** Of a thread at work: what the process was started with. */
  readonly normal = niceOfThisThread();
  #isRaised = false;

  /** Called on main, once, before it starts threads. Where it is not allowed all stay as they are. */
  raiseMain(): void {
    this.#isRaised = setNiceOfThisThread(this.normal - mainAheadBy);
  }

  /** Makes a thread: a thread begins with its maker's priority, and takes the normal one when it has loaded (`enterThread`). */
  making<T>(make: () => T, awaited: Awaiting = 'now'): T {
    if (!this.#isRaised) return make();
    setNiceOfThisThread(this.normal + behindBy[awaited]);
    try {
      return make();
    } finally {
      setNiceOfThisThread(this.normal - mainAheadBy);
    }
  }
}
