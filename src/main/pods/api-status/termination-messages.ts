/**
 * Truncates termination messages so that those of all containers of a pod take at most 12 KB together, in equal shares (upstream
 * normalizeStatus, MaxPodTerminationMessageLogLength).
 */
import { firstBytes } from '../../../shared/errors/first-bytes.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';

const maxBytes = 12 * 1024;

export function truncateTerminationMessages(pod: Pod, status: PodStatus): PodStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const bytes = Math.floor(maxBytes / Math.max(1, containers.length + initContainers.length + ephemeralContainers.length));
  const lists = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;
  const shortened = lists.flatMap((list) => {
    const statuses = status[list];
    return statuses?.some((status) => isTooLong(status, bytes)) ? [[list, statuses.map((status) => truncate(status, bytes))] as const] : [];
  });
  return shortened.length === 0 ? status : { ...status, ...Object.fromEntries(shortened) };
}

function isTooLong({ state, lastState }: ContainerStatus, bytes: number): boolean {
  return [state, lastState].some((either) => Buffer.byteLength(either?.terminated?.message ?? '') > bytes);
}

function truncate(status: ContainerStatus, bytes: number): ContainerStatus {
  const { state, lastState } = status;
  return {
    ...status,
    ...(state ? { state: truncateState(state, bytes) } : {}),
    ...(lastState ? { lastState: truncateState(lastState, bytes) } : {}),
  };
}

function truncateState(state: ContainerState, bytes: number): ContainerState {
  const message = state.terminated?.message;
  if (message === undefined || Buffer.byteLength(message) <= bytes) return state;
  return { terminated: { ...state.terminated!, message: firstBytes(message, bytes) } };
}
