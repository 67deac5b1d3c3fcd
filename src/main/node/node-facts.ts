/** The node as a sync must know it, kept up to date: each task is sent what holds when it is sent. */
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { NodeFacts, NodeResources } from '../../shared/contracts/node-facts.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { hostIPs } from './host-ips.ts';
import type { RuntimeState } from './runtime-state.ts';

export interface NodeFactsOptions {
  readonly nodeName: string;
  /** `--node-ip`; empty: found out. */
  readonly nodeIP: string;
  readonly capacity: NodeResources;
  readonly allocatable: NodeResources;
  readonly runtimeState: RuntimeState;
  readonly clock: Clock;
}

/** Upstream's nodeStatusUpdateFrequency: how soon a changed address is seen. */
const refreshPeriodMs = 10_000;

export class NodeFactsSource {
  readonly #options: NodeFactsOptions;
  #hostIPs: readonly string[] = [];

  private constructor(options: NodeFactsOptions) {
    this.#options = options;
  }

  static async start(options: NodeFactsOptions): Promise<NodeFactsSource> {
    const source = new NodeFactsSource(options);
    await source.#refresh();
    return source;
  }

  current(): NodeFacts {
    const { nodeName, capacity, allocatable, runtimeState } = this.#options;
    const networkProblem = runtimeState.networkErrors();
    return {
      nodeName,
      hostname: nodeName,
      hostIPs: this.#hostIPs,
      capacity,
      allocatable,
      runtimeName: runtimeState.facts?.runtimeName ?? '',
      runtimeVersion: runtimeState.facts?.runtimeVersion ?? '',
      runtimeHandlers: runtimeState.facts?.handlers ?? [],
      networkReady: networkProblem === null,
      networkNotReadyMessage: networkProblem ?? '',
    };
  }

  /** Follows the host's addresses until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(refreshPeriodMs, signal).catch(() => {});
      if (!signal.aborted) await this.#refresh();
    }
  }

  async #refresh(): Promise<void> {
    // A host without /proc/net/route has no default route to go by.
    const routes = await readFile('/proc/net/route', 'utf8').catch(() => '');
    this.#hostIPs = hostIPs(this.#options.nodeIP, networkInterfaces(), routes);
  }
}
