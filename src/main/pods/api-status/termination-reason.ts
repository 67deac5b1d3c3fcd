/**
 * Decides the reason of a termination. Pure. The runtime reports OOMKilled for a container in which any process was ever killed for lack of memory, however
 * the container ended later. Upstream shows that.
 */
import type { Container, ContainerState } from '../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';

/** 128 + SIGTERM. A process that the kernel kills for lack of memory ends by SIGKILL. */
const sigtermExitCode = 143;

/** Removes `OOMKilled` from a container that ended by SIGTERM, or with success. An init container that lacked memory has failed, as upstream. */
export function withTerminationReason(state: ContainerState, container: Container, isInit: boolean): ContainerState {
  const { terminated } = state;
  if (terminated?.reason !== 'OOMKilled') return state;
  if (terminated.exitCode === sigtermExitCode) return { terminated: { ...terminated, reason: 'Error' } };
  const hasSucceeded = terminated.exitCode === 0 && (!isInit || isRestartableInitContainer(container));
  return hasSucceeded ? { terminated: { ...terminated, reason: 'Completed' } } : state;
}
