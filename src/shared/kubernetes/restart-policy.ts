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

/** The feature gates of restarts, as upstream names them. */
export interface RestartGates {
  readonly containerRestartRules: boolean;
  readonly restartAllContainersOnContainerExits: boolean;
}

/** The policy that decides about a container without an exit code: its own, else the pod's. */
export function effectiveRestartPolicy(container: Container, spec: PodSpec, gates: RestartGates): string {
  return (gates.containerRestartRules ? container.restartPolicy : undefined) ?? spec.restartPolicy ?? 'Always';
}

/**
 * Applies the container's rules, then its own policy, then the pod's (upstream podutil.ContainerShouldRestart). The action
 * RestartAllContainers counts as a restart. A rule with an action that is unknown, or whose gate is off, has no effect.
 */
export function shouldRestartContainer(container: Container, spec: PodSpec, exitCode: number, gates: RestartGates): boolean {
  if (gates.containerRestartRules && container.restartPolicy !== undefined) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart') return true;
    if (action === 'RestartAllContainers' && gates.restartAllContainersOnContainerExits) return true;
  }
  switch (effectiveRestartPolicy(container, spec, gates)) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}
