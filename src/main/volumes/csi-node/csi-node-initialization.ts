/**
 * Makes the CSINode, with the plugins that are migrated, before the Node is ready: the scheduler may otherwise place pods by the limits of in-tree plugins. Upstream:
 * initializeCSINode in pkg/volume/csi/csi_plugin.go, which ends the kubelet after 140 s of failures.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { CsiNodeWriter } from './csi-node-writer.ts';

export interface CsiNodeInitializationOptions {
  readonly csiNode: Pick<CsiNodeWriter, 'initialize'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The same delays as for the registration of the Node (register-node.ts). */
const backoff = { initialMs: 100, maxMs: 7000 };

export class CsiNodeInitialization {
  readonly #options: CsiNodeInitializationOptions;
  #problem: string | null = 'CSINode is not yet initialized';

  constructor(options: CsiNodeInitializationOptions) {
    this.#options = options;
  }

  /** Why the Node is not ready, in upstream's words, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Call this when the Node exists. Resolves when the CSINode does. Rejects only with the signal's reason.
   * @param onChanged called when the problem has changed
   */
  async run(onChanged: () => void, signal: AbortSignal): Promise<void> {
    const { csiNode, clock, random, logger } = this.#options;
    for (let delayMs: number | undefined; this.#problem !== null;) {
      try {
        await csiNode.initialize();
        this.#problem = null;
      } catch (err) {
        signal.throwIfAborted();
        this.#problem = `failed to initialize CSINode: ${messageOf(err)}`;
        logger.error({ err: messageOf(err) }, 'Failed to initialize CSINode, will retry');
        delayMs = nextBackoffMs(delayMs, backoff);
        await clock.sleep(withJitter(delayMs, 0.1, random), signal);
      }
      onChanged();
    }
  }
}
