/** What can be asked of the simulated runtime while it runs, over its control socket: one JSON request a line, one JSON answer a line. */
import type { CallCounters, CallRecord } from './call-log.ts';
import type { ExecResult } from './calls/node-calls.ts';
import type { EventFaults } from './event-hub.ts';
import type { FaultRule } from './faults.ts';
import type { RuntimeOptionsInput } from './options.ts';
import type { SeededPod, SeedOptions } from './seed.ts';

export interface SandboxState {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUID: string;
  readonly attempt: number;
  readonly state: 'ready' | 'notReady';
  readonly ip: string;
}

export interface ContainerStateView {
  readonly id: string;
  readonly sandboxID: string;
  readonly podUID: string;
  readonly podName: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly exitCode: number;
  /** Wall clock, ms since the epoch with fractions; 0: never. */
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
}

export interface ResourceUse {
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  readonly rssBytes: number;
}

export interface ControlApi {
  /** Pods that are there at once, running. */
  seed(options: SeedOptions): readonly SeededPod[];
  /** All that the runtime has, in no order. */
  state(): { readonly sandboxes: readonly SandboxState[]; readonly containers: readonly ContainerStateView[] };
  /** Calls go wrong from now on; answers with the fault's ID. */
  fault(rule: FaultRule): number;
  /** One fault, or all. What hangs on it goes on. */
  clearFaults(faultID?: number): void;
  /** Ends a running container; answers with the monotonic ms at which it ended. Code 137 when absent. */
  exitContainer(containerID: string, exitCode?: number, reason?: string): number;
  /** The sandbox's own process dies, and its containers with it. */
  exitSandbox(sandboxID: string): number;
  /** The runtime no longer knows whether it runs (as after a crash of its shim). */
  loseContainer(containerID: string): void;
  /** Containers, or a whole pod, vanish without a call of the kubelet: as when somebody else removed them. */
  removeContainer(containerID: string): void;
  removeSandbox(sandboxID: string): void;
  /** Breaks every connection, and listens no more; what ran, runs on. */
  closeSocket(): void;
  openSocket(): Promise<void>;
  /** Loses or repeats events from now on, with these probabilities; both 0 when absent. */
  eventFaults(faults: Partial<EventFaults>): void;
  eventSubscribers(): number;
  /** What ExecSync answers, by container ID, container name, pod name, or `*`. */
  execResult(subject: string, result: ExecResult): void;
  addImage(name: string, sizeBytes?: number): string;
  configure(options: RuntimeOptionsInput): void;
  counters(): Readonly<Record<string, CallCounters>>;
  /** The last 100,000 calls, oldest first; of one name when given. */
  calls(call?: string): readonly CallRecord[];
  resetCounters(): void;
  /** Forgets everything: pods, images, events, faults, counters. */
  reset(): void;
  /** The simulated runtime's own use: a benchmark must know that it is not what it measures. */
  resourceUse(): ResourceUse;
}

export interface ControlRequest {
  readonly id: number;
  readonly method: keyof ControlApi;
  readonly params: readonly unknown[];
}
export type ControlAnswer = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };
