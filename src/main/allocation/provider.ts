/**
 * A provider of one kind of exclusive resource, such as devices or the IDs of a user namespace. What a pod gets is recorded durably before a container
 * starts with it, is found again after a restart of the kubelet, and is free only after the pod has ended. Providers that place resources on NUMA
 * nodes will also give hints.
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
  /** For log lines. */
  readonly name: string;
  /** Whether the pod needs this resource. The admission of a pod that needs none from any provider never waits. */
  isNeededBy(pod: Pod): boolean;
  /**
   * Part of admission. Resolves with null when what the pod gets is durable, or with the reason why the pod gets nothing. Settles soon after the signal
   * aborts, because later pods wait for it.
   */
  allocate(pod: Pod, signal: AbortSignal): Promise<AllocationRefusal | null>;
  /**
   * Called before each sync, also of a pod that was admitted before a restart. Returns what the pod has. What the runtime already uses for the pod may win
   * over the record. A problem is part of the result: it fails the sync, not the pod. Never rejects.
   */
  restore(pod: Pod, runtime: AllocatedInRuntime): Promise<ExclusiveAllocation>;
  /** Frees what the pod has: the pod has ended, or another provider has refused it. Idempotent. Never rejects. */
  release(uid: PodUID): Promise<void>;
  /** Frees what is recorded for unknown pods. */
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

/** Reads what pods have since before the restart. Rejects with an Error when the provider cannot work on this node: the kubelet does not start. */
export type OpenAllocationProvider = (context: AllocationProviderContext) => Promise<AllocationProvider>;
