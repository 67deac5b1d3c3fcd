/**
 * The order in which the kubelet's parts stop. It follows the flow of the data: no part closes while one that feeds it is still open.
 * Parts start in another order, so the list is kept here and not by the code that starts them.
 */
import type { Logger } from '../shared/log/logger.ts';

const shutdownOrder = [
  'config-reload',
  'sources',
  'mirror-pods',
  'resizes',
  'allocation-manager',
  'node-shutdown',
  'eviction',
  'pod-faults',
  'pod-workers',
  'node-cgroups',
  'network-chains',
  'exclusive-allocations',
  'work-queue',
  'pod-sync',
  'plugins',
  'volumes',
  'runtime-classes',
  'pod-objects',
  'serving-certificate',
  'node',
  'stats',
  'probes',
  'images',
  'pleg',
  'server',
  'pod-timelines',
  'health',
  'events',
  'status-manager',
  'client-certificate',
  'api',
  'hang-watchdog',
  'heartbeat',
] as const;

export type ShutdownPart = (typeof shutdownOrder)[number];

/** A standalone kubelet has none of these. */
const clusterParts: ReadonlySet<ShutdownPart> = new Set([
  'mirror-pods',
  'runtime-classes',
  'pod-objects',
  'node',
  'events',
  'status-manager',
  'client-certificate',
  'api',
]);

export class Shutdown {
  readonly #closers = new Map<ShutdownPart, () => Promise<void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Called when the part has started. Throws when the part is registered already: one of the two would stay open. */
  register(part: ShutdownPart, close: () => Promise<void>): void {
    if (this.#closers.has(part)) throw new Error(`${part} is registered for shutdown twice`);
    this.#closers.set(part, close);
  }

  /** Throws when a part is not registered. Called once everything has started. */
  checkComplete({ isStandalone }: { readonly isStandalone: boolean }): void {
    const missing = shutdownOrder.filter((part) => !this.#closers.has(part) && !(isStandalone && clusterParts.has(part)));
    if (missing.length > 0) throw new Error(`not registered for shutdown: ${missing.join(', ')}`);
  }

  /** Closes the parts that have started. A part that fails to close does not keep the others open. */
  async run(): Promise<void> {
    this.#logger.info('Stopping; pods keep running');
    for (const part of shutdownOrder) {
      await this.#closers
        .get(part)?.()
        .catch((err: unknown) => this.#logger.warn({ err, part }, 'Could not stop a part cleanly'));
    }
    this.#logger.info('Stopped');
  }
}
