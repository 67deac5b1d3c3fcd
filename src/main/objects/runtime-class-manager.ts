/** Looks up the runtime handler of a pod's RuntimeClass. Upstream: pkg/kubelet/runtimeclass/runtimeclass_manager.go. */
import type { RuntimeHandlerChoice } from '../../shared/contracts/pod-sync/task.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { runtimeClass as runtimeClassSchema } from '../../shared/kubernetes/schema/objects.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { acceptConforming, Reflector, type ApiClient, type ApiObject } from '../api/index.ts';

export interface RuntimeClassManagerOptions {
  readonly client: ApiClient;
  /** Called when classes with these names are added: pods that failed without them can be retried. */
  readonly onAdded: (names: ReadonlySet<string>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface RuntimeClass extends ApiObject {
  readonly handler?: string;
}

/** How long a sync waits for the first list. Upstream fails at once, and the pod waits for its back-off. */
const listTimeoutMs = 1000;

/** The lookup of a standalone kubelet, which knows no classes. */
export function standaloneRuntimeHandler({ spec: { runtimeClassName } }: Pod): RuntimeHandlerChoice {
  if (!runtimeClassName) return { handler: '' };
  return { problem: `RuntimeClass "${runtimeClassName}" not found: there is no API server to ask for it` };
}

export class RuntimeClassManager {
  readonly #clock: Clock;
  readonly #reflector: Reflector<RuntimeClass>;
  readonly #synced = Promise.withResolvers<void>();

  private constructor({ client, onAdded, clock, logger }: RuntimeClassManagerOptions) {
    this.#clock = clock;
    const notifyAdded = (classes: readonly RuntimeClass[]) => {
      if (classes.length > 0) onAdded(new Set(classes.map(({ metadata }) => metadata.name)));
    };
    this.#reflector = Reflector.start<RuntimeClass>({
      client,
      path: '/apis/node.k8s.io/v1/runtimeclasses',
      trafficClass: 'objects',
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      accept: acceptConforming(runtimeClassSchema, logger),
      handler: {
        onReplace: (classes) => {
          this.#synced.resolve();
          notifyAdded(classes);
        },
        onChange: (changes) => notifyAdded(changes.filter(({ type }) => type === 'ADDED').map(({ object }) => object)),
      },
      clock,
      logger,
    });
  }

  static start(options: RuntimeClassManagerOptions): RuntimeClassManager {
    return new RuntimeClassManager(options);
  }

  /** Waits at most one second for the first list. Never rejects. */
  async lookupRuntimeHandler({ spec: { runtimeClassName } }: Pod): Promise<RuntimeHandlerChoice> {
    if (!runtimeClassName) return { handler: '' };
    if (!this.#reflector.hasSynced()) await this.#untilSynced();
    const existing = this.#reflector.objects.getByName('', runtimeClassName);
    if (existing) return { handler: existing.handler ?? '' };
    if (this.#reflector.hasSynced()) return { problem: `runtimeclass.node.k8s.io "${runtimeClassName}" not found` };
    return { problem: `failed to lookup RuntimeClass ${runtimeClassName}: runtime classes have not been read yet` };
  }

  close(): Promise<void> {
    return this.#reflector.close();
  }

  async #untilSynced(): Promise<void> {
    const stopTimer = new AbortController();
    await Promise.race([this.#synced.promise, this.#clock.sleep(listTimeoutMs, stopTimer.signal).catch(() => {})]);
    stopTimer.abort();
  }
}
