/** Creates the cgroup of a pod's sandbox and containers, and reports a failure in upstream's words. */
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

const reason = 'FailedCreatePodContainer';

/** Creates the cgroup unless it exists. Rejects with KubeletError `FailedCreatePodContainer`. */
export function ensureCgroup(context: TaskContext, pod: Pod): Promise<void> {
  return reportingFailure(context, () => context.cgroups.ensureExists(pod));
}

/** Also sets the values of a cgroup that the runtime may have created already. Rejects like `ensureCgroup`. */
export function createCgroup(context: TaskContext, pod: Pod): Promise<void> {
  return reportingFailure(context, () => context.cgroups.create(pod));
}

async function reportingFailure({ events, identity }: TaskContext, create: () => Promise<void>): Promise<void> {
  try {
    await create();
  } catch (err) {
    events.onPod('Warning', reason, `unable to ensure pod container exists: ${messageOf(err)}`);
    const message = `failed to ensure that the pod: ${identity.uid} cgroups exist and are correctly applied: ${messageOf(err)}`;
    throw new KubeletError(reason, message);
  }
}

export function isCgroupFailure(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === reason;
}
