/**
 * A provider of something that one pod holds alone, such as the IDs of its user namespace. What a pod holds is durable before a container starts with
 * it, is found again after a restart, and is free only after the pod has ended. Providers that place resources on NUMA nodes will also give hints.
 */
import type { ExclusiveAllocation } from '../../shared/contracts/pod-sync/allocation.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { RuntimeHandler } from '../../shared/contracts/node-info.ts';
import type { RuntimeHandlerChoice } from '../../shared/contracts/pod-sync/task.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { KubeletOptions } from '../config/options.ts';
import type { PodFile } from './pod-file.ts';

/** Why a pod cannot be admitted: it becomes Failed with this reason. */
export interface AllocationRefusal {
  readonly reason: string;
  readonly message: string;
}

/** What the runtime has of the pod at the beginning of a sync. */
export interface AllocatedInRuntime {
  readonly status: RuntimePodStatus | null;
  readonly runtimeHandler: RuntimeHandlerChoice | undefined;
}

export interface AllocationProvider {
  /** Part of log lines. */
  readonly name: string;
  /** A pod that needs nothing of any provider never waits. */
  isNeededBy(pod: Pod): boolean;
  /**
   * Part of admission. Resolves when what the pod gets is durable, or with the reason why it gets nothing. A wait ends when the signal aborts: later pods wait
   * meanwhile.
   */
  allocate(pod: Pod, signal: AbortSignal): Promise<AllocationRefusal | null>;
  /**
   * Called before each sync, of pods that were admitted before a restart too. Returns what the pod holds, which may be what the runtime has. A problem
   * is part of the result: it fails the sync, not the pod. Never rejects.
   */
  restore(pod: Pod, runtime: AllocatedInRuntime): Promise<ExclusiveAllocation>;
  /** Frees what the pod holds: it has ended, or another provider has refused it. Idempotent. Never rejects. */
  release(uid: PodUID): Promise<void>;
  /** Frees what pods hold that do not exist any more. */
  releaseOrphans(isKnown: (uid: PodUID) => boolean): void;
  /** Resolves when no operation is in progress. */
  close(): Promise<void>;
}

/** What a provider may use. */
export interface AllocationProviderContext {
  readonly options: Pick<KubeletOptions, 'flags' | 'config' | 'featureGates'>;
  /** The runtime's handlers, as they are now. */
  readonly runtimeHandlers: () => readonly RuntimeHandler[];
  /** Returns the file of this name in the folder of each pod. */
  readonly podFile: (name: string) => PodFile;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly log: (component: string) => Logger;
}

/** Finds what pods hold already, from before a restart. Rejects with an Error when the provider cannot work on this node: the kubelet does not start. */
export type OpenAllocationProvider = (context: AllocationProviderContext) => Promise<AllocationProvider>;
