/**
 * Decides whether an exited container runs again, and which init containers are sidecars. Pod syncs and the API status share
 * these rules.
 */
import type { Container, PodSpec } from './api.ts';

/** True for a sidecar: an init container that keeps running next to the regular containers. */
export function isRestartableInitContainer(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

/** Returns the first restart rule of the container that matches the exit code (upstream FindMatchingContainerRestartRule). */
export function matchingRestartRule(container: Container, exitCode: number): { readonly action: string } | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const listed = exitCodes.values?.includes(exitCode) ?? false;
    return exitCodes.operator === 'In' ? listed : exitCodes.operator === 'NotIn' && !listed;
  });
}

/**
 * Applies the container's rules, then its own policy, then the pod's (upstream podutil.ContainerShouldRestart). The action
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
