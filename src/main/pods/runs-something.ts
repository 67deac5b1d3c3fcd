/** Whether the runtime runs anything of a pod: a container that runs, or a sandbox that is ready. */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';

export function runsSomething(status: RuntimePodStatus | null): boolean {
  if (!status) return false;
  return status.containers.some(({ state }) => state === 'running') || status.sandboxes.some(({ state }) => state === 'ready');
}
