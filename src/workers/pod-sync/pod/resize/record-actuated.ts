/** Corrects the record of the resources in force when a container or a pod's cgroup is created with other resources than recorded. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import { isSameResizable, resizableResources, withPodLimits } from '../../../../shared/kubernetes/resizable-resources.ts';
import type { TaskContext } from '../dependencies.ts';
import { podLevelResources } from './pod-level.ts';

/**
 * Called before a container is created. A resize may have been allocated since the container's last instance: without a durable record, a restarted kubelet
 * would resize or restart the new instance again.
 */
export async function recordStart(context: TaskContext, pod: Pod, container: Container | EphemeralContainer): Promise<void> {
  const recorded = context.actuated?.containers.get(container.name);
  if (recorded === undefined) return;
  const resources = withPodLimits(container.resources ?? {}, podLevelResources(context, pod));
  if (isSameResizable(resizableResources(recorded), resizableResources(resources))) return;
  await context.channel.recordActuated({ containers: new Map([[container.name, resources]]) });
}

/** Called when the pod's cgroup was created with the allocated resources. */
export function recordNewCgroup(context: TaskContext, { pod, actuated }: SyncPodTask): void {
  const podLevel = podLevelResources(context, pod);
  if (!podLevel || !actuated || isSameResizable(resizableResources(actuated.podLevel), resizableResources(podLevel))) return;
  context.channel.actuated({ containers: new Map(), podLevel });
}
