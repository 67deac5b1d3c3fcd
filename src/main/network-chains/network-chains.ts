/**
 * Creates the chains of each IP family, and again after a flush of the host's tables. Upstream: initNetworkUtil, and Monitor in pkg/util/iptables.
 *
 * Each family is a loop: create the chains, create the canaries, wait until the first canary is gone. A step that fails is tried again after a period;
 * upstream gives up when the first attempt fails.
 */
import type { IPFamily } from '../../shared/contracts/pod-sync/iptables.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { IPTables, type RunIPTables } from './iptables.ts';
import { canary, wantedChains } from './wanted-chains.ts';

export interface NetworkChainsOptions {
  readonly run: RunIPTables;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's period of the check. */
const checkPeriodMs = 60_000;
/** A program that flushes a table flushes the others next. Upstream's iptablesFlushTimeout and iptablesFlushPollTime. */
const flush = { timeoutMs: 5000, pollMs: 100 };

const families: readonly IPFamily[] = ['IPv4', 'IPv6'];

export class NetworkChains {
  readonly #options: NetworkChainsOptions;
  readonly #stop = new AbortController();

  constructor(options: NetworkChainsOptions) {
    this.#options = options;
  }

  /** Does not wait, and never throws. */
  start(): void {
    void this.#run();
  }

  /** The chains stay: the pods of a stopped kubelet need them too. */
  close(): void {
    this.#stop.abort(new Error('the kubelet is stopping'));
  }

  async #run(): Promise<void> {
    const found = await Promise.all(families.map((family) => this.#find(family)));
    if (this.#stop.signal.aborted) return;
    if (found.every((iptables) => iptables === null))
      this.#options.logger.info('No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain');
    for (const iptables of found) if (iptables) void this.#keep(iptables);
  }

  /** Waits for as long as a missing resource hides whether the host has iptables. */
  async #find(family: IPFamily): Promise<IPTables | null> {
    return this.#untilDone(family, 'Failed to find out whether the host has iptables', () =>
      IPTables.find(family, this.#options.run),
    ).catch(() => null);
  }

  /** Ends when the kubelet stops. */
  async #keep(iptables: IPTables): Promise<void> {
    const { logger } = this.#options;
    const protocol = iptables.family;
    try {
      await this.#createChains(iptables);
      logger.info({ protocol }, 'Initialized iptables rules.');
      for (;;) {
        await this.#untilDone(protocol, 'Could not set up iptables canary', async () => {
          for (const table of canary.tables) await iptables.ensureChain(table, canary.chain);
        });
        await this.#untilFlushed(iptables);
        logger.info({ protocol }, 'Another program has flushed iptables; creating the chains again');
        await this.#createChains(iptables);
      }
    } catch (err) {
      if (!this.#stop.signal.aborted) logger.error({ err, protocol }, 'The iptables chains are no longer kept');
    }
  }

  async #createChains(iptables: IPTables): Promise<void> {
    for (const step of wantedChains[iptables.family]) await this.#untilDone(iptables.family, step.failure, () => iptables.ensure(step));
  }

  async #untilFlushed(iptables: IPTables): Promise<void> {
    const [first, ...others] = canary.tables;
    do {
      await this.#sleep(checkPeriodMs);
    } while (
      await this.#untilDone(iptables.family, 'Could not check for iptables canary', () => iptables.chainExists(first, canary.chain))
    );
    const { clock, logger } = this.#options;
    const endMs = clock.monotonic() + flush.timeoutMs;
    while (await this.#someExist(iptables, others)) {
      if (clock.monotonic() >= endMs) return logger.info({ protocol: iptables.family }, 'Inconsistent iptables state detected');
      await this.#sleep(flush.pollMs);
    }
  }

  /** A table that can't be checked may still have its canary. */
  async #someExist(iptables: IPTables, tables: readonly (typeof canary.tables)[number][]): Promise<boolean> {
    for (const table of tables) if (await iptables.chainExists(table, canary.chain).catch(() => true)) return true;
    return false;
  }

  /** Tries again each period, and logs a failure that stays once. Rejects when the kubelet stops. */
  async #untilDone<T>(protocol: IPFamily, failure: string, work: () => Promise<T>): Promise<T> {
    let reported = '';
    for (;;) {
      this.#stop.signal.throwIfAborted();
      try {
        return await work();
      } catch (err) {
        this.#stop.signal.throwIfAborted();
        if (messageOf(err) !== reported) this.#options.logger.error({ err: messageOf(err), protocol }, failure);
        reported = messageOf(err);
      }
      await this.#sleep(checkPeriodMs);
    }
  }

  #sleep(ms: number): Promise<void> {
    return this.#options.clock.sleep(ms, this.#stop.signal);
  }
}
