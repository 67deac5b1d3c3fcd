/**
 * The priorities of the kubelet's threads, for hosts with few cores. All threads wait for main, and main never works for long. So main gets a lower nice
 * value than the threads and processes that it starts, if the process has the privilege. A thread in an endless loop gets only its share of the CPU that way.
 * Real-time scheduling is an operator's choice (`realTimeVariable`): a main thread in an endless loop then takes a core from everything else on the host,
 * including the runtime and sshd. Upstream has neither.
 */
import { niceOfThisThread, setNiceOfThisThread } from '../../shared/thread/nice.ts';
import { enterRealTime, resetOnFork } from '../../shared/thread/scheduling-policy.ts';

/** Gives main about three times the CPU share of each other thread: each step of the nice value is a factor of 1.25, and 1.25^5 = 3.05. */
const mainNiceOffset = 5;

/**
 * An environment variable, not a flag or a field of KubeletConfiguration: the Go kubelet rejects unknown flags and fields, but ignores an environment
 * variable, so that one configuration works for both. Set the variable with `Environment=` in the systemd unit.
 */
export const realTimeVariable = 'KUBELET_MAIN_THREAD_REALTIME';

/** Main's priority: real-time, ahead of the threads that it starts, or the same as theirs. */
export type MainPriority = 'realTime' | 'ahead' | 'normal';

export class ThreadPriorities {
  /** The nice value of every other thread once it has loaded (`enterThread`): the one that the process started with. */
  readonly normal = niceOfThisThread();

  /** Call this once on main, before it starts threads. Returns the priority that the host allowed. */
  raiseMain({ realTime = false }: { readonly realTime?: boolean } = {}): MainPriority {
    const hasLowerNice = this.#lowerNice();
    return realTime && enterRealTime() ? 'realTime' : hasLowerNice ? 'ahead' : 'normal';
  }

  /** Child processes, such as credential plugins, must not inherit main's nice value. Without reset-on-fork main keeps its normal value. */
  #lowerNice(): boolean {
    if (!setNiceOfThisThread(this.normal - mainNiceOffset)) return false;
    if (resetOnFork()) return true;
    setNiceOfThisThread(this.normal);
    return false;
  }
}

/** Undefined for an unknown value. */
export function isRealTimeWanted(environment: Readonly<Record<string, string | undefined>>): boolean | undefined {
  const value = environment[realTimeVariable] ?? '';
  if (['true', '1'].includes(value)) return true;
  return ['false', '0', ''].includes(value) ? false : undefined;
}
