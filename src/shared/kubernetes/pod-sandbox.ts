/** Whether a pod needs a new sandbox. Asked by syncs, which make it, and by the API status (PodReadyToStartContainers). */
import type { RuntimePodStatus } from '../contracts/runtime-status.ts';
import type { Pod } from './api.ts';
import type { SandboxID } from './ids.ts';

export interface SandboxVerdict {
  readonly changed: boolean;
  /** Of the sandbox to make, or of the one that is there. */
  readonly attempt: number;
  /** The one to go on with, or the one before the new; absent where there is none, or where its network is not the pod's. */
  readonly sandboxID?: SandboxID;
  readonly why?: string;
}

/** Upstream: runtimeutil.PodSandboxChanged. Sandboxes are newest first. */
export function podSandboxChanged(pod: Pod, status: RuntimePodStatus | null): SandboxVerdict {
  const newest = status?.sandboxes[0];
  if (!status || !newest) return { changed: true, attempt: 0, why: 'it has none' };
  const next = { changed: true, attempt: newest.attempt + 1 };
  if (status.sandboxes.filter(({ state }) => state === 'ready').length > 1) {
    return { ...next, sandboxID: newest.id, why: 'more than one is ready' };
  }
  if (newest.state !== 'ready') return { ...next, sandboxID: newest.id, why: 'it is not ready' };
  const hostNetwork = pod.spec.hostNetwork === true;
  if (newest.hostNetwork !== hostNetwork) return { ...next, why: 'its network namespace is not the one of the pod' };
  if (!hostNetwork && newest.podIPs.length === 0) return { ...next, sandboxID: newest.id, why: 'it has no IP address' };
  return { changed: false, attempt: newest.attempt, sandboxID: newest.id };
}
