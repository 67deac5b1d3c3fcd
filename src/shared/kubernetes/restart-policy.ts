/** Whether a container that exited is to run again, and which init containers are sidecars. Asked by syncs and by the API status. */
import type { Container, PodSpec } from './api.ts';

/** A sidecar: an init container that keeps running beside the regular ones. */
export function isRestartableInitContainer(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

/** The container's own rule that matches the exit code, if it has one (upstream FindMatchingContainerRestartRule). */
export function matchingRestartRule(container: Container, exitCode: number): { readonly action: string } | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const listed = exitCodes.values?.includes(exitCode) ?? false;
    return exitCodes.operator === 'In' ? listed : exitCodes.operator === 'NotIn' && !listed;
  });
}

/**
 * By the container's rules, then its own policy, then the pod's (upstream podutil.ContainerShouldRestart). The action
 * RestartAllContainers counts as a restart.
 */
export function shouldRestartContainer(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined && matchingRestartRule(container, exitCode)) return true;
  switch (container.restartPolicy ?? spec.restartPolicy ?? 'Always') {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}
