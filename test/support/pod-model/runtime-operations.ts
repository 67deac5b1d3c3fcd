/** Does what happens to the containers and sandboxes of a modelled node without its kubelet. */
import type { ProbeResult } from '../../../src/shared/contracts/probes.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { PodDisturbance } from '../pod-histories/pod-history.ts';
import type { ModelOperation } from './model-operations.ts';
import type { ModelContainer, ModelRuntime } from './model-runtime.ts';

export type RuntimeOperation = Extract<
  ModelOperation,
  { readonly type: 'exit' | 'lose' | 'exitSandbox' | 'removeSandbox' | 'staleProbeFailure' }
>;

export interface RuntimeOperationsOptions {
  readonly runtime: ModelRuntime;
  readonly disturb: (type: PodDisturbance['type'], podUID: string, more?: { container?: string; containerID?: string }) => void;
  readonly onProbeResults: (results: readonly ProbeResult[]) => void;
}

export class RuntimeOperations {
  readonly #options: RuntimeOperationsOptions;
  /** Every container that has ended, by its ID. */
  readonly #ended: { readonly podUID: string; readonly id: string }[] = [];

  constructor(options: RuntimeOperationsOptions) {
    this.#options = options;
  }

  /** Does nothing when there is nothing to choose from. */
  apply(operation: RuntimeOperation): void {
    const { runtime, disturb } = this.#options;
    const running = runtime.running();
    const container = running[operation.pick % running.length];
    const sandboxes = [...runtime.sandboxes.values()];
    const sandbox = sandboxes[operation.pick % sandboxes.length];
    switch (operation.type) {
      case 'exit':
        return container && runtime.exit(container, operation.exitCode, operation.reason);
      case 'lose':
        if (container) disturb('containerLost', container.sandbox.podUID, { container: container.name });
        return container && runtime.removeContainer(container.id);
      case 'exitSandbox':
        if (sandbox?.ready) disturb('sandboxLost', sandbox.podUID);
        return sandbox && runtime.stopSandbox(sandbox.id);
      case 'removeSandbox':
        if (sandbox) disturb('sandboxLost', sandbox.podUID);
        for (const one of runtime.containers.values())
          if (one.sandbox === sandbox) disturb('containerLost', one.sandbox.podUID, { container: one.name });
        return sandbox && runtime.removeSandbox(sandbox.id);
      case 'staleProbeFailure':
        return this.#sendStaleFailure(operation.pick);
      default:
        operation satisfies never;
    }
  }

  /** A liveness probe of an instance that has ended has failed: the result was under way. */
  #sendStaleFailure(pick: number): void {
    const { runtime, disturb, onProbeResults } = this.#options;
    for (const { sandbox, id, state } of runtime.containers.values())
      if (state === 'exited' && !this.#ended.some((known) => known.id === id)) this.#ended.push({ podUID: sandbox.podUID, id });
    const chosen = this.#ended[pick % this.#ended.length];
    if (!chosen) return;
    const { podUID, id } = chosen;
    // The kubelet may not know yet that the newest instance has ended. A failure of an older one must change nothing.
    const ended = runtime.containers.get(id);
    const isNewest = ended && ![...runtime.containers.values()].some((one) => isLater(one, ended));
    if (isNewest) disturb('probeFailed', podUID, { containerID: id });
    onProbeResults([{ podUID: podUID as never, containerID: id as ContainerID, probe: 'liveness', result: 'failure' }]);
  }
}

function isLater(one: ModelContainer, than: ModelContainer): boolean {
  return one.sandbox.podUID === than.sandbox.podUID && one.name === than.name && one.attempt > than.attempt;
}
