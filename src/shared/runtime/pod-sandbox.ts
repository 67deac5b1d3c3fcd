/**
 * Decides whether a pod needs a new sandbox. The pod sync creates the sandbox, and the API status derives
 * PodReadyToStartContainers from the same decision.
 */
import type { RuntimePodStatus } from '../contracts/runtime-status.ts';
import type { Pod } from '../kubernetes/api.ts';
import type { SandboxID } from '../kubernetes/ids.ts';

export const sandboxNotReady = 'pod sandbox is not ready';

export interface SandboxChange {
  readonly changed: boolean;
  /** The attempt number of the sandbox to create, or of the current sandbox. */
  readonly attempt: number;
  /**
   * The sandbox to reuse, or the predecessor of the new sandbox. Absent when the pod has no sandbox, or when its network mode
   * differs from the spec.
   */
  readonly sandboxID?: SandboxID;
  /** Why the pod needs a new one, in upstream's words. */
  readonly reason?: string;
}

/** Upstream: runtimeutil.PodSandboxChanged. `status.sandboxes` is sorted newest first. */
export function podSandboxChanged(pod: Pod, status: RuntimePodStatus | null): SandboxChange {
  const newest = status?.sandboxes[0];
  if (!status || !newest) return { changed: true, attempt: 0, reason: 'no pod sandbox exists' };
  const next = { changed: true, attempt: newest.attempt + 1 };
  if (status.sandboxes.filter(({ state }) => state === 'ready').length > 1) {
    return { ...next, sandboxID: newest.id, reason: 'multiple pod sandboxes are ready and need to be reconciled' };
  }
  if (newest.state !== 'ready') return { ...next, sandboxID: newest.id, reason: sandboxNotReady };
  const hostNetwork = pod.spec.hostNetwork === true;
  if (newest.hostNetwork !== hostNetwork) return { ...next, reason: 'network namespace mode changed and sandbox needs to be recreated' };
  if (!hostNetwork && newest.podIPs.length === 0) return { ...next, sandboxID: newest.id, reason: 'pod sandbox has no IP address' };
  return { changed: false, attempt: newest.attempt, sandboxID: newest.id };
}
