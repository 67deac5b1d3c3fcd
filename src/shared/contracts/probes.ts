/**
 * The probes thread runs the liveness, readiness and startup probes of running containers. Main decides what is probed, keeps the results and
 * acts on them; the thread keeps only its schedule, so that a thread that is started again continues with main's pods and their results.
 */
import type { MetricsFormat } from '../metrics/exposition/negotiate.ts';
import type { MessagePort } from 'node:worker_threads';
import type { HttpGetTarget } from '../http-get/request.ts';
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';

export type ProbeType = 'liveness' | 'readiness' | 'startup';
export type ProbeOutcome = 'success' | 'failure' | 'unknown';

export interface ProbesWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  /** An exec probe waits this much longer than its timeout for the runtime's answer (upstream: remote_runtime.go ExecSync). */
  readonly runtimeRequestTimeoutMs: number;
  /** Posts ProbeNotification. */
  readonly results: MessagePort;
}

/** What a probe does. Ports are numbers and hosts are filled in. */
export type ProbeAction =
  | { readonly type: 'exec'; readonly command: readonly string[] }
  | ({ readonly type: 'http' } & HttpGetTarget)
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'grpc'; readonly host: string; readonly port: number; readonly service: string; readonly tls?: true }
  /** The probe cannot run: the message says why (an unknown port name). Its result is `unknown`. */
  | { readonly type: 'invalid'; readonly message: string };

export interface ProbeSpec {
  readonly probe: ProbeType;
  readonly action: ProbeAction;
  readonly initialDelaySeconds: number;
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  /** The result that main has for this container, from this kubelet or from before its restart. Absent: not probed yet. */
  readonly lastResult?: ProbeOutcome;
}

/** A running instance of a container that has probes. */
export interface ProbedContainer {
  readonly name: string;
  readonly id: ContainerID;
  /** Epoch milliseconds. Initial delays count from here. */
  readonly startedAtMs: number;
  /** True when the container has no startup probe, or the probe has succeeded. Until then only the startup probe runs; the thread itself goes on when it succeeds. */
  readonly started: boolean;
  readonly probes: readonly ProbeSpec[];
}

export interface ProbedPod {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  /** True when the pod terminates: only readiness probes run. */
  readonly terminating: boolean;
  /** Running containers with probes, each with its current instance. A container that is not listed is not probed any more. */
  readonly containers: readonly ProbedContainer[];
}

/** A probe's result has changed, after its threshold. */
export interface ProbeResult {
  readonly podUID: PodUID;
  readonly containerID: ContainerID;
  readonly probe: ProbeType;
  readonly result: ProbeOutcome;
}

/** An event about one run of a probe. Upstream: recordContainerEvent in prober.go. */
export interface ProbeEvent {
  readonly podUID: PodUID;
  readonly container: string;
  readonly reason: 'Unhealthy' | 'ProbeWarning';
  readonly message: string;
}

export interface ProbeNotification {
  readonly results: readonly ProbeResult[];
  readonly events: readonly ProbeEvent[];
}

export interface ProbesApi {
  /** Replaces what is probed of these pods; other pods are unchanged. A container with the same ID keeps its schedule. */
  setPods(pods: readonly ProbedPod[]): Promise<void>;
  /** Ends all probes of these pods and drops their metrics. */
  removePods(uids: readonly PodUID[]): Promise<void>;
  /** The metrics of the probes for `/metrics/probes`, in a format. The bytes are transferred. */
  renderMetrics(format: MetricsFormat): Promise<Uint8Array>;
  close(): Promise<void>;
}
