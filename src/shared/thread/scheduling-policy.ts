/** The scheduling policy of the calling thread (sched(7)). New threads and child processes never inherit a raised priority. */
import { SchedulingPolicy, setScheduler } from '../linux/native.ts';

const lowestPriority = 1;

/** Real-time threads have priority over all threads with nice values. False: not permitted; requires CAP_SYS_NICE and a cgroup with a real-time budget. */
export function enterRealTime(): boolean {
  return trySetScheduler(SchedulingPolicy.roundRobin, lowestPriority);
}

/** If this thread's nice value is negative, its new threads and child processes start with 0. False: a seccomp filter forbids it (`RestrictRealtime=yes`). */
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
