/** What the runtime runs of a pod: anything (a container that runs, or a sandbox that is ready), all of it, or no container any more. */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

export function isPodRunning(status: RuntimePodStatus | null): boolean {
  if (!status) return false;
  return status.containers.some(({ state }) => state === 'running') || status.sandboxes.some(({ state }) => state === 'ready');
}

/** Each of its containers, in a sandbox that is ready: a sync will hardly find anything to do. */
export function areAllContainersRunning({ spec }: Pod, status: RuntimePodStatus | null): boolean {
  if (!status?.sandboxes.some(({ state }) => state === 'ready')) return false;
  const running = new Set(status.containers.filter(({ state }) => state === 'running').map(({ name }) => name));
  return spec.containers.every(({ name }) => running.has(name));
}

/** Each of its containers was seen to have ended: how is known. */
export function haveAllContainersExited(status: RuntimePodStatus | null): boolean {
  return status !== null && !status.failure && status.containers.every(({ state }) => state === 'exited');
}
