/**
 * Which of the kubelet's threads goes first where cores are few. Everything waits for main, and main never works for long: where the process
 * may, main has a nice value ahead of the threads and processes that it starts. A thread that spins gets no more than its share that way.
 * Real time is for an operator to choose (`realTimeVariable`): a main thread that spins then takes a core from all else on the host, the
 * runtime and sshd included. Upstream has neither.
 */
import { niceOfThisThread, setNiceOfThisThread } from '../../shared/thread/nice.ts';
import { enterRealTime, resetOnFork } from '../../shared/thread/scheduling.ts';

/** Some three times the share of the core that each of the others has. */
const mainAheadBy = 5;

/**
 * Not a flag and not a field of KubeletConfiguration: those are upstream's, and a file or command line that has one of ours no longer works
 * for the Go kubelet, which ignores an environment variable. A unit sets it with `Environment=`.
 */
export const realTimeVariable = 'KUBELET_MAIN_THREAD_REALTIME';

/** Of main: in real time, before the threads that it starts, or like them. */
export type MainPriority = 'realTime' | 'ahead' | 'normal';

export class ThreadPriorities {
  /** Of every other thread, once it has loaded (`enterThread`): what the process was started with. */
  readonly normal = niceOfThisThread();

  /** Called on main, once, before it starts threads. The answer is what the host allowed. */
  raiseMain({ realTime = false }: { readonly realTime?: boolean } = {}): MainPriority {
    const isAhead = this.#goAhead();
    return realTime && enterRealTime() ? 'realTime' : isAhead ? 'ahead' : 'normal';
  }

  /** A credential plugin must not inherit main's nice value: where the kernel does not see to that, main stays as it is. */
  #goAhead(): boolean {
    if (!setNiceOfThisThread(this.normal - mainAheadBy)) return false;
    if (resetOnFork()) return true;
    setNiceOfThisThread(this.normal);
    return false;
  }
}

/** Undefined: the value is neither yes nor no. */
export function isRealTimeWanted(environment: Readonly<Record<string, string | undefined>>): boolean | undefined {
  const value = environment[realTimeVariable] ?? '';
  if (['true', '1'].includes(value)) return true;
  return ['false', '0', ''].includes(value) ? false : undefined;
}
