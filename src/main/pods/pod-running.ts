/** Whether the runtime runs a pod's containers: any of them, all of them, or none of them any more. Pure. */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

/** Whether a container runs or a sandbox is ready. */
export function isPodRunning(status: RuntimePodStatus | null): boolean {
  if (!status) return false;
  return status.containers.some(({ state }) => state === 'running') || status.sandboxes.some(({ state }) => state === 'ready');
}

/** Whether the sandbox is ready and every container runs: a sync hardly has anything to do. */
export function areAllContainersRunning({ spec }: Pod, status: RuntimePodStatus | null): boolean {
  if (!status?.sandboxes.some(({ state }) => state === 'ready')) return false;
  const running = new Set(status.containers.filter(({ state }) => state === 'running').map(({ name }) => name));
  return spec.containers.every(({ name }) => running.has(name));
}

/** Whether every container has exited and its exit code is known. */
export function haveAllContainersExited(status: RuntimePodStatus | null): boolean {
  return status !== null && !status.failure && status.containers.every(({ state }) => state === 'exited');
}
