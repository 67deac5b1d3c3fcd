/**
 * Orders the termination of a pod with sidecars: regular containers at once, then the sidecars in reverse order (upstream
 * kuberuntime_termination_order.go).
 */
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';

/** Returns, for each sidecar, the names of the running containers that must terminate before it. Pure. */
export function computeTerminationPrerequisites(pod: Pod, running: ReadonlySet<string>): Map<string, string[]> {
  const prerequisites = new Map<string, string[]>();
  const regular = pod.spec.containers.map(({ name }) => name);
  let later: string[] = [];
  for (const container of [...(pod.spec.initContainers ?? [])].reverse()) {
    if (!isRestartableInitContainer(container)) continue;
    prerequisites.set(
      container.name,
      [...regular, ...later].filter((name) => running.has(name)),
    );
    // The sidecar before this one waits for this one only, which itself waits for all later sidecars.
    later = [container.name];
  }
  return prerequisites;
}

/** Makes each sidecar's kill wait for its prerequisites. */
export class TerminationOrder {
  readonly #prerequisites: ReadonlyMap<string, readonly string[]>;
  readonly #terminated = new Map<string, PromiseWithResolvers<void>>();

  constructor(pod: Pod, running: ReadonlySet<string>) {
    this.#prerequisites = computeTerminationPrerequisites(pod, running);
    for (const name of running) this.#terminated.set(name, Promise.withResolvers());
  }

  /** Resolves when all prerequisites of this container have terminated. */
  async waitForPrerequisites(container: string): Promise<void> {
    for (const name of this.#prerequisites.get(container) ?? []) await this.#terminated.get(name)?.promise;
  }

  containerTerminated(container: string): void {
    this.#terminated.get(container)?.resolve();
  }
}
