/**
 * A container that has ended for good never runs again: a status that says so is an error of the kubelet's, and the API server would refuse
 * it (upstream checkContainerStateTransition). Pure.
 */
import type { Container, ContainerStatus, PodSpec, PodStatus } from '../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer, shouldRestartContainer } from '../../../shared/kubernetes/restart-policy.ts';
import { hasRestartAllRule } from './restart-all.ts';

/** What is wrong with `next` after `before`; null: nothing. */
export function illegalTransition(before: PodStatus | undefined, next: PodStatus, spec: PodSpec): string | null {
  if ((spec.restartPolicy ?? 'Always') === 'Always' || hasRestartAllRule(spec)) return null;
  const regular = risen(before?.containerStatuses, next.containerStatuses, spec.containers, spec);
  if (regular !== undefined) return `terminated container ${regular} attempted illegal transition to non-terminated state`;
  const initContainers = (spec.initContainers ?? []).filter((container) => !isRestartableInitContainer(container));
  const init = risen(before?.initContainerStatuses, next.initContainerStatuses, initContainers, spec);
  return init === undefined ? null : `terminated init container ${init} attempted illegal transition to non-terminated state`;
}

/** The first that had ended for good and is not shown as ended any more. */
function risen(
  before: readonly ContainerStatus[] | undefined,
  next: readonly ContainerStatus[] | undefined,
  containers: readonly Container[],
  spec: PodSpec,
): string | undefined {
  return containers.find((container) => {
    const end = before?.find(({ name }) => name === container.name)?.state?.terminated;
    if (!end || (end.exitCode !== 0 && spec.restartPolicy === 'OnFailure')) return false;
    if (shouldRestartContainer(container, spec, end.exitCode)) return false;
    const status = next?.find(({ name }) => name === container.name);
    return status !== undefined && !status.state?.terminated;
  })?.name;
}
