/** The reasons of waiting containers that several parts act on. Upstream: pkg/kubelet/kubelet_pods.go, container/sync_result.go and images/types.go. */
import type { ContainerStatus } from './api.ts';

/** The default reasons of a container that was not started yet: in a pod with init containers, and in one without. Each API status computes them anew. */
export const podInitializing = 'PodInitializing';
export const containerCreating = 'ContainerCreating';

export const imagePullBackOff = 'ImagePullBackOff';
export const crashLoopBackOff = 'CrashLoopBackOff';

const defaultReasons: ReadonlySet<string> = new Set([podInitializing, containerCreating]);
const backOffReasons: ReadonlySet<string> = new Set([crashLoopBackOff, imagePullBackOff]);

/** Whether the container was not started yet, and no attempt has failed. */
export function isDefaultWaitingReason(reason: string): boolean {
  return defaultReasons.has(reason);
}

/** Whether the container only waits for a known time: the end of its back-off. */
export function isBackOffReason(reason: string): boolean {
  return backOffReasons.has(reason);
}

/** Why a container does not run: its waiting reason in the API. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}
/** By container name. */
export type WaitingReasons = Readonly<Record<string, WaitingReason>>;

/** Returns why containers could not be started, by container name. A new status keeps these reasons until the next attempt. */
export function waitingReasonsOf(statuses: readonly ContainerStatus[]): WaitingReasons {
  return Object.fromEntries(
    statuses.flatMap(({ name, state }) => {
      const { reason, message = '' } = state?.waiting ?? {};
      return reason && !isDefaultWaitingReason(reason) ? [[name, { reason, message }]] : [];
    }),
  );
}
