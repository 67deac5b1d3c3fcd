/**
 * Asks the drivers of CSI volumes what the volumes use (upstream pkg/volume/csi/csi_metrics.go). A driver may need minutes: no volume waits for another one.
 * The driver measures a volume once it has answered for it. Until then, and where drivers measure nothing, statfs does; upstream has no numbers then.
 */
import type { DriverMeasuredUsage, VolumeStatsReply } from '../../../shared/contracts/volumes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface DriverMeasurerOptions<V> {
  readonly periodMs: number;
  readonly askDriver: (volume: V) => Promise<VolumeStatsReply>;
  readonly onMeasured: (volume: V, usage: DriverMeasuredUsage) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

interface DriverVolume {
  dueAtMs: number;
  /** The driver has not answered yet: it is not asked again. */
  isAsked: boolean;
  isMeasured: boolean;
}

export class DriverMeasurer<V extends { readonly path: string }> {
  readonly #options: DriverMeasurerOptions<V>;
  /** By path. */
  #volumes = new Map<string, DriverVolume>();

  constructor(options: DriverMeasurerOptions<V>) {
    this.#options = options;
  }

  /** Asks about the volumes that are due, and forgets those that are not in the list. Waits for no driver. */
  measureDue(volumes: readonly V[]): void {
    const nowMs = this.#options.clock.monotonic();
    this.#volumes = new Map(
      volumes.map(({ path }) => [path, this.#volumes.get(path) ?? { dueAtMs: 0, isAsked: false, isMeasured: false }]),
    );
    for (const volume of volumes) {
      const state = this.#volumes.get(volume.path)!;
      if (!state.isAsked && state.dueAtMs <= nowMs) void this.#measure(volume, state);
    }
  }

  /** Whether the volume's driver measures it. */
  measures({ path }: V): boolean {
    return this.#volumes.get(path)?.isMeasured ?? false;
  }

  async #measure(volume: V, state: DriverVolume): Promise<void> {
    const { clock, logger, askDriver, onMeasured, periodMs, random = Math.random } = this.#options;
    state.isAsked = true;
    const reply = await askDriver(volume).catch((err: unknown): VolumeStatsReply => ({ outcome: 'failed', message: messageOf(err) }));
    state.isAsked = false;
    // A driver that has just left, or is not there yet, is looked for again in the next round.
    state.dueAtMs = reply.outcome === 'absent' ? 0 : clock.monotonic() + periodMs * (1 + random());
    if (reply.outcome === 'failed') {
      logger.debug({ path: volume.path, reason: reply.message }, 'Failed to measure a volume');
      return;
    }
    state.isMeasured = reply.outcome === 'measured';
    if (reply.outcome === 'measured' && this.#volumes.get(volume.path) === state) onMeasured(volume, reply.usage);
  }
}
