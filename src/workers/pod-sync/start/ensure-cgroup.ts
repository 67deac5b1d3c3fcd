/** Makes the cgroup that a pod's sandbox and containers go into. */
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

const reason = 'FailedCreatePodContainer';

/** Unless it is there. Rejects with KubeletError `FailedCreatePodContainer`. */
export function ensureCgroup(context: TaskContext, pod: Pod): Promise<void> {
  return orReport(context, () => context.cgroups.ensureExists(pod));
}

/** Also where the runtime makes it. Rejects as `ensureCgroup`. */
export function createCgroup(context: TaskContext, pod: Pod): Promise<void> {
  return orReport(context, () => context.cgroups.create(pod));
}

async function orReport({ events, identity: about }: TaskContext, make: () => Promise<void>): Promise<void> {
  try {
    await make();
  } catch (err) {
    events.onPod('Warning', reason, `unable to ensure pod container exists: ${messageOf(err)}`);
    const message = `failed to ensure that the pod: ${about.uid} cgroups exist and are correctly applied: ${messageOf(err)}`;
    throw new KubeletError(reason, message);
  }
}

export function isCgroupFailure(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === reason;
}
