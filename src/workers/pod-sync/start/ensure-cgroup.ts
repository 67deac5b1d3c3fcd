/** Makes the cgroup that a pod's sandbox and containers go into, unless it is there. */
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

const reason = 'FailedCreatePodContainer';

/** Rejects with KubeletError `FailedCreatePodContainer`. */
export async function ensureCgroup({ cgroups, events, about }: TaskContext, pod: Pod): Promise<void> {
  try {
    await cgroups.ensure(pod);
  } catch (err) {
    events.onPod('Warning', reason, `unable to ensure pod container exists: ${messageOf(err)}`);
    const message = `failed to ensure that the pod: ${about.uid} cgroups exist and are correctly applied: ${messageOf(err)}`;
    throw new KubeletError(reason, message);
  }
}

export function isCgroupFailure(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === reason;
}
