/**
 * In which order the containers of a pod with sidecars end: the regular ones at once, then the sidecars, the last one first
 * (upstream kuberuntime_termination_order.go). A decision, and a gate that holds to it.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';

/** Whom each sidecar waits for, by name. Only those who run are waited for. */
export function terminationPrerequisites(pod: Pod, running: ReadonlySet<string>): Map<string, string[]> {
  const prerequisites = new Map<string, string[]>();
  const regular = pod.spec.containers.map(({ name }) => name);
  let later: string[] = [];
  for (const container of [...(pod.spec.initContainers ?? [])].reverse()) {
    if (!isRestartableInitContainer(container)) continue;
    prerequisites.set(
      container.name,
      [...regular, ...later].filter((name) => running.has(name)),
    );
    // Its successor waited for all later ones already.
    later = [container.name];
  }
  return prerequisites;
}

export class TerminationOrder {
  readonly #prerequisites: ReadonlyMap<string, readonly string[]>;
  readonly #ended = new Map<string, PromiseWithResolvers<void>>();

  constructor(pod: Pod, running: ReadonlySet<string>) {
    this.#prerequisites = terminationPrerequisites(pod, running);
    for (const name of running) this.#ended.set(name, Promise.withResolvers());
  }

  /** Resolves when all that must end before this container has ended. */
  async waitForTurn(container: string): Promise<void> {
    for (const name of this.#prerequisites.get(container) ?? []) await this.#ended.get(name)?.promise;
  }

  containerTerminated(container: string): void {
    this.#ended.get(container)?.resolve();
  }
}
