/**
 * Completes the container statuses of a terminated pod: no container stays running or waiting, because no later inspection corrects it
 * (upstream status_manager.go TerminatePod).
 */
import type { ContainerStatus, Pod } from '../../../shared/kubernetes/api.ts';
import { lostState } from './container-status.ts';

interface Statuses {
  readonly initContainerStatuses: readonly ContainerStatus[];
  readonly containerStatuses: readonly ContainerStatus[];
}

export function toTerminatedStatuses(pod: Pod, statuses: Statuses): Statuses {
  const evidence = lastWithEvidence(statuses.initContainerStatuses);
  return {
    initContainerStatuses: statuses.initContainerStatuses.map((status, index) => (index <= evidence ? toTerminated(status) : status)),
    containerStatuses: hasInitialized(pod, statuses) ? statuses.containerStatuses.map(toTerminated) : statuses.containerStatuses,
  };
}

function toTerminated(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated ? status : { ...status, ready: false, started: false, state: lostState(false) };
}

/** The index of the last init container that has evidently run; 0 when there is no evidence. */
function lastWithEvidence(statuses: readonly ContainerStatus[]): number {
  return Math.max(
    0,
    statuses.findLastIndex(({ state, lastState }) => state?.waiting === undefined || lastState?.terminated !== undefined),
  );
}

function hasInitialized(pod: Pod, { initContainerStatuses, containerStatuses }: Statuses): boolean {
  const lastInit = pod.spec.initContainers?.at(-1);
  if (!lastInit) return true;
  if (containerStatuses.some(({ state, lastState }) => lastState?.terminated !== undefined || state?.waiting === undefined)) return true;
  const status = initContainerStatuses.find(({ name }) => name === lastInit.name);
  if (lastInit.restartPolicy === 'Always') return status?.state?.running !== undefined && status.started === true;
  return [status?.state, status?.lastState].some((state) => state?.terminated?.exitCode === 0);
}
