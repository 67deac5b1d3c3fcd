/** The control API of the running simulated runtime, over its control socket: one JSON request per line, one JSON reply per line. */
import type { CallCounters, CallRecord } from './call-log.ts';
import type { ExecResult } from './calls/node-calls.ts';
import type { EventFaults } from './event-hub.ts';
import type { FaultRule } from './faults.ts';
import type { HistoryEntry } from './history.ts';
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

export interface ContainerState {
  readonly id: string;
  readonly sandboxID: string;
  readonly podUID: string;
  readonly podName: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly exitCode: number;
  /** Wall clock, fractional ms since the epoch; 0 when the container was never started. */
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** The mounts that have `mount_options`. */
  readonly mountOptions: readonly { readonly containerPath: string; readonly options: readonly string[] }[];
}

export interface ResourceUse {
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  readonly rssBytes: number;
}

export interface ControlApi {
  /** Adds running pods at once. */
  seed(options: SeedOptions): readonly SeededPod[];
  /** Returns all sandboxes and containers, unordered. */
  state(): { readonly sandboxes: readonly SandboxState[]; readonly containers: readonly ContainerState[] };
  /** Adds a fault and returns its ID. */
  fault(rule: FaultRule): number;
  /** Clears one fault or all. Calls that hang continue. */
  clearFaults(faultID?: number): void;
  /** Ends a running container, by default with code 137. Returns the monotonic ms of the exit. */
  exitContainer(containerID: string, exitCode?: number, reason?: string): number;
  /** Ends the sandbox's process and its containers. */
  exitSandbox(sandboxID: string): number;
  /** Sets the state of a container to unknown, as after a crash of its shim. */
  loseContainer(containerID: string): void;
  /** Removes a container or a whole pod without a call of the kubelet, as another client of the runtime could. */
  removeContainer(containerID: string): void;
  removeSandbox(sandboxID: string): void;
  /** Closes every connection and stops listening. Containers keep running. */
  closeSocket(): void;
  openSocket(): Promise<void>;
  /** Sets the probabilities of losing and repeating events. Default: 0. */
  eventFaults(faults: Partial<EventFaults>): void;
  eventSubscribers(): number;
  /** Sets the result of ExecSync by container ID, container name, pod name or `*`. */
  execResult(subject: string, result: ExecResult): void;
  addImage(name: string, sizeBytes?: number): string;
  configure(options: RuntimeOptionsInput): void;
  counters(): Readonly<Record<string, CallCounters>>;
  /** Returns the last 100,000 calls, oldest first, optionally of one name. */
  calls(call?: string): readonly CallRecord[];
  /** Returns what happened to containers, oldest first; at most 100,000 entries. */
  history(): readonly HistoryEntry[];
  resetCounters(): void;
  /** Resets pods, images, events, faults and counters. */
  reset(): void;
  /** Returns the resource usage of the simulated runtime itself. */
  resourceUse(): ResourceUse;
}

export interface ControlRequest {
  readonly id: number;
  readonly method: keyof ControlApi;
  readonly params: readonly unknown[];
}
export type ControlReply = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };
