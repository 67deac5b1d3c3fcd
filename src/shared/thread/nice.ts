/** The nice value of the calling thread. On Linux each thread has its own (setpriority(2), "C library/kernel differences"); a new thread inherits it. */
import { getPriority, setPriority } from 'node:os';

/** The kernel's ID for the calling thread. */
const thisThread = 0;

export function niceOfThisThread(): number {
  return getPriority(thisThread);
}

/** Sets −20 (the highest priority) to 19. False: not permitted; a lower value than the current one requires CAP_SYS_NICE. */
export function setNiceOfThisThread(nice: number): boolean {
  try {
    setPriority(thisThread, Math.max(-20, Math.min(19, nice)));
    return true;
  } catch {
    return false;
  }
}
