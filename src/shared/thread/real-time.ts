/** Whether the thread that asks goes before all that the host runs by nice values, in whichever cgroup or session that is (sched(7)). */
import { SchedulingPolicy, setScheduler } from '../linux/native.ts';

const lowestPriority = 1;

/** Threads and processes that it starts are never in real time. False: not allowed; it takes CAP_SYS_NICE, and a cgroup that may. */
export function enterRealTime(): boolean {
  try {
    setScheduler(SchedulingPolicy.roundRobin | SchedulingPolicy.resetOnFork, lowestPriority);
    return true;
  } catch {
    return false;
  }
}
