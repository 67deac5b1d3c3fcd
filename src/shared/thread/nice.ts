/** The nice value of the thread that asks: on Linux each thread has its own (setpriority(2), "C library/kernel differences"), and a new one its maker's. */
import { getPriority, setPriority } from 'node:os';

/** The kernel's name for who asks. */
const thisThread = 0;

export function niceOfThisThread(): number {
  return getPriority(thisThread);
}

/** From −20, the most urgent, to 19. False: not allowed; more urgent than now takes CAP_SYS_NICE. */
export function setNiceOfThisThread(nice: number): boolean {
  try {
    setPriority(thisThread, Math.max(-20, Math.min(19, nice)));
    return true;
  } catch {
    return false;
  }
}
