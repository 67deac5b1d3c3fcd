/**
 * Termination messages of all containers of a pod take 12 KB together at most, so that its status stays small (upstream normalizeStatus,
 * MaxPodTerminationMessageLogLength). Each container has an equal part.
 */
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';

const maxBytes = 12 * 1024;

export function truncateTerminationMessages(pod: Pod, status: PodStatus): PodStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const bytes = Math.floor(maxBytes / Math.max(1, containers.length + initContainers.length + ephemeralContainers.length));
  const lists = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;
  const shortened = lists.flatMap((list) => {
    const statuses = status[list];
    return statuses?.some((one) => isTooLong(one, bytes)) ? [[list, statuses.map((one) => shorten(one, bytes))] as const] : [];
  });
  return shortened.length === 0 ? status : { ...status, ...Object.fromEntries(shortened) };
}

function isTooLong({ state, lastState }: ContainerStatus, bytes: number): boolean {
  return [state, lastState].some((one) => Buffer.byteLength(one?.terminated?.message ?? '') > bytes);
}

function shorten(status: ContainerStatus, bytes: number): ContainerStatus {
  const { state, lastState } = status;
  return {
    ...status,
    ...(state ? { state: shortState(state, bytes) } : {}),
    ...(lastState ? { lastState: shortState(lastState, bytes) } : {}),
  };
}

function shortState(state: ContainerState, bytes: number): ContainerState {
  const message = state.terminated?.message;
  if (message === undefined || Buffer.byteLength(message) <= bytes) return state;
  return { terminated: { ...state.terminated!, message: firstBytes(message, bytes) } };
}

/** Never half of a character. */
function firstBytes(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  let end = bytes;
  while (end > 0 && (buffer[end]! & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
}
