/** Measures how long the node takes to join its cluster, for the metrics kubelet_node_startup_*. Upstream: pkg/kubelet/util/node_startup_latency_tracker.go. */
import {
  nodeStartup,
  nodeStartupPostRegistration,
  nodeStartupPreKubelet,
  nodeStartupPreRegistration,
  nodeStartupRegistration,
} from '../../../shared/metrics/definitions/node.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface StartupLatencyOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Wall-clock ms. 0: not known. */
  readonly bootedAtMs: () => number;
  readonly kubeletStartedAtMs: number;
}

/** Records only for a kubelet that created its Node. A restarted kubelet has no node startup to measure. */
export class StartupLatency {
  readonly #options: StartupLatencyOptions;
  #attemptedAtMs = 0;
  #registeredAtMs = 0;
  #readyAtMs = 0;

  constructor(options: StartupLatencyOptions) {
    this.#options = options;
  }

  markRegistrationAttempted(): void {
    if (this.#attemptedAtMs === 0) this.#attemptedAtMs = this.#options.clock.now();
  }

  markRegistered(): void {
    const { clock, bootedAtMs, kubeletStartedAtMs } = this.#options;
    if (this.#attemptedAtMs === 0 || this.#registeredAtMs !== 0) return;
    this.#registeredAtMs = clock.now();
    if (bootedAtMs() > 0) nodeStartupPreKubelet.set((kubeletStartedAtMs - bootedAtMs()) / 1000);
    nodeStartupPreRegistration.set((this.#attemptedAtMs - kubeletStartedAtMs) / 1000);
    nodeStartupRegistration.set((this.#registeredAtMs - this.#attemptedAtMs) / 1000);
  }

  markReady(): void {
    const { clock, bootedAtMs } = this.#options;
    if (this.#registeredAtMs === 0 || this.#readyAtMs !== 0) return;
    this.#readyAtMs = clock.now();
    nodeStartupPostRegistration.set((this.#readyAtMs - this.#registeredAtMs) / 1000);
    if (bootedAtMs() > 0) nodeStartup.set((this.#readyAtMs - bootedAtMs()) / 1000);
  }
}
