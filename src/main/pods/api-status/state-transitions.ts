/**
 * Detects illegal state transitions: a container that its restart policy does not restart never leaves the terminated state. The API server
 * would reject such a status (upstream checkContainerStateTransition). Pure.
 */
import type { Container, ContainerStatus, PodSpec, PodStatus } from '../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer, shouldRestartContainer, type RestartGates } from '../../../shared/kubernetes/restart-policy.ts';
import { hasRestartAllRule } from './restart-all.ts';

/** Returns upstream's error message, or null when the transition is legal. */
export function illegalTransition(
  previousStatus: PodStatus | undefined,
  next: PodStatus,
  spec: PodSpec,
  gates: RestartGates,
): string | null {
  if ((spec.restartPolicy ?? 'Always') === 'Always') return null;
  if (gates.restartAllContainersOnContainerExits && hasRestartAllRule(spec)) return null;
  const regular = findResurrected(previousStatus?.containerStatuses, next.containerStatuses, spec.containers, spec, gates);
  if (regular !== undefined) return `terminated container ${regular} attempted illegal transition to non-terminated state`;
  const initContainers = (spec.initContainers ?? []).filter((container) => !isRestartableInitContainer(container));
  const init = findResurrected(previousStatus?.initContainerStatuses, next.initContainerStatuses, initContainers, spec, gates);
  return init === undefined ? null : `terminated init container ${init} attempted illegal transition to non-terminated state`;
}

/** Returns the name of the first container that left the terminated state although it must not be restarted. */
function findResurrected(
  previousStatuses: readonly ContainerStatus[] | undefined,
  nextStatuses: readonly ContainerStatus[] | undefined,
  containers: readonly Container[],
  spec: PodSpec,
  gates: RestartGates,
): string | undefined {
  return containers.find((container) => {
    const end = previousStatuses?.find(({ name }) => name === container.name)?.state?.terminated;
    if (!end || (end.exitCode !== 0 && spec.restartPolicy === 'OnFailure')) return false;
    if (shouldRestartContainer(container, spec, end.exitCode, gates)) return false;
    const status = nextStatuses?.find(({ name }) => name === container.name);
    return status !== undefined && !status.state?.terminated;
  })?.name;
}
