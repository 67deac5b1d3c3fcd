/** The simulated processes: timers and log files of running containers. They change the machine only through `onExit`. */
import { writeFileSync } from 'node:fs';
import type { Clock } from '../../src/shared/time/clock.ts';
import { containerTerminationMessagePathAnnotation } from '../../src/shared/kubernetes/annotations.ts';
import { ContainerLog } from './container-log.ts';
import { sigkillExitCode, type ContainerBehaviour } from './image-behaviour.ts';
import type { Container } from './machine.ts';

/** The maximum delay of setTimeout: 24 days. */
const maxTimerMs = 2 ** 31 - 1;

interface Process {
  readonly behaviour: ContainerBehaviour;
  readonly log: ContainerLog | null;
  readonly timers: Set<() => void>;
  signalled: boolean;
}

export class Processes {
  readonly #clock: Clock;
  readonly #onExit: (container: Container, exitCode: number, reason: string) => void;
  readonly #running = new Map<Container, Process>();
  readonly #waiters = new Map<Container, Set<() => void>>();

  constructor(clock: Clock, onExit: (container: Container, exitCode: number, reason: string) => void) {
    this.#clock = clock;
    this.#onExit = onExit;
  }

  /** Throws when the log file can not be created. */
  start(container: Container, behaviour: ContainerBehaviour): void {
    const log = container.logPath === '' ? null : new ContainerLog(container.logPath);
    const process: Process = { behaviour, log, timers: new Set(), signalled: false };
    this.#running.set(container, process);
    for (let line = 1; line <= behaviour.logLines; line += 1) log?.write(`${behaviour.logText} ${line}`);
    if (behaviour.logEveryMs > 0) this.#scheduleLogLines(process, behaviour.logLines + 1);
    const { exit } = behaviour;
    if (exit) this.#after(process, exit.afterMs, () => this.end(container, exit.code, exit.reason));
  }

  /** Sends the stop signal. Repeated signals are ignored. */
  terminate(container: Container): void {
    const process = this.#running.get(container);
    if (!process || process.signalled) return;
    process.signalled = true;
    const { stop } = process.behaviour;
    if (stop) this.#after(process, stop.afterMs, () => this.end(container, stop.code, ''));
  }

  kill(container: Container): void {
    this.end(container, sigkillExitCode, '');
  }

  /** Ends the container's process. A seeded container without a process is ended too. */
  end(container: Container, exitCode: number, reason: string): void {
    const process = this.#running.get(container);
    if (process) {
      this.#running.delete(container);
      for (const cancel of process.timers) cancel();
      process.log?.close();
      writeTerminationMessage(container, process.behaviour.terminationMessage);
    }
    this.#onExit(container, exitCode, reason);
    for (const wake of this.#waiters.get(container) ?? []) wake();
    this.#waiters.delete(container);
  }

  /** Resolves to true when the container ended within the timeout, to false otherwise or when the signal aborted. */
  waitForEnd(container: Container, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (container.state !== 'running' && container.state !== 'unknown') return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(container) ?? new Set();
      this.#waiters.set(container, waiters);
      const finish = (ended: boolean) => {
        waiters.delete(wake);
        cancel();
        signal.removeEventListener('abort', onTimeoutOrAbort);
        resolve(ended);
      };
      const wake = () => finish(true);
      const onTimeoutOrAbort = () => finish(false);
      const cancel = this.#clock.after(Math.min(timeoutMs, maxTimerMs), onTimeoutOrAbort);
      waiters.add(wake);
      signal.addEventListener('abort', onTimeoutOrAbort);
    });
  }

  /** Throws when the new file can not be created. */
  reopenLog(container: Container): void {
    this.#running.get(container)?.log?.reopen();
  }

  /** Ends all processes without calling `onExit`. Called when the runtime is reset. */
  clear(): void {
    for (const process of this.#running.values()) {
      for (const cancel of process.timers) cancel();
      process.log?.close();
    }
    this.#running.clear();
    for (const waiters of this.#waiters.values()) for (const wake of waiters) wake();
    this.#waiters.clear();
  }

  #scheduleLogLines(process: Process, line: number): void {
    const { logEveryMs, logBatch, logText } = process.behaviour;
    this.#after(process, logEveryMs, () => {
      for (let next = line; next < line + logBatch; next += 1) process.log?.write(`${logText} ${next}`);
      this.#scheduleLogLines(process, line + logBatch);
    });
  }

  #after(process: Process, ms: number, action: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      process.timers.delete(cancel);
      action();
    });
    process.timers.add(cancel);
  }
}

/** Writes the message into the file that the kubelet has mounted. */
function writeTerminationMessage(container: Container, message: string): void {
  if (message === '') return;
  const path = container.config.annotations[containerTerminationMessagePathAnnotation];
  const mount = container.config.mounts.find(({ containerPath }) => containerPath === path);
  if (!mount) return;
  try {
    writeFileSync(mount.hostPath, message);
  } catch {
    // The container ends without a termination message.
  }
}
