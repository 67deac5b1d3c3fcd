/** Whether the thread that asks goes before all that the host runs by nice values, in whichever cgroup or session that is (sched(7)). */
import { SchedulingPolicy, setScheduler } from '../linux/native.ts';

const lowestPriority = 1;

/** Threads and processes that it starts are never in real time. False: not allowed; it takes CAP_SYS_NICE, and a cgroup that may. */
export function enterRealTime(): boolean {
  return isDone(() => setScheduler(SchedulingPolicy.roundRobin | SchedulingPolicy.resetOnFork, lowestPriority));
}

/** Back to where nice values count. */
export function leaveRealTime(): boolean {
  return isDone(() => setScheduler(SchedulingPolicy.other, 0));
}

function isDone(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
