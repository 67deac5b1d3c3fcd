/** The scheduling policy of the calling thread (sched(7)). What the thread starts never inherits more than an ordinary thread has. */
import { SchedulingPolicy, setScheduler } from '../linux/native.ts';

const lowestPriority = 1;

/** Goes before all that the host runs by nice values. False: not allowed; it takes CAP_SYS_NICE, and a cgroup that may. */
export function enterRealTime(): boolean {
  return trySetScheduler(SchedulingPolicy.roundRobin, lowestPriority);
}

/** New threads and processes of this thread begin with nice value 0 where its own is negative. False: a seccomp filter forbids it (`RestrictRealtime=yes`). */
export function resetOnFork(): boolean {
  return trySetScheduler(SchedulingPolicy.other, 0);
}

function trySetScheduler(policy: number, priority: number): boolean {
  try {
    setScheduler(policy | SchedulingPolicy.resetOnFork, priority);
    return true;
  } catch {
    return false;
  }
}
