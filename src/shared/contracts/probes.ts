/** The probes thread. It will run liveness, readiness and startup probes; main will act on their results. */
import type { MessagePort } from 'node:worker_threads';
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';

export interface ProbesWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  /** Posts ProbeResult[]. */
  readonly results: MessagePort;
}

export interface ProbeResult {
  readonly podUID: PodUID;
  readonly containerID: ContainerID;
  readonly probe: 'liveness' | 'readiness' | 'startup';
  readonly result: 'success' | 'failure' | 'unknown';
}

export interface ProbesApi {
  close(): Promise<void>;
}
