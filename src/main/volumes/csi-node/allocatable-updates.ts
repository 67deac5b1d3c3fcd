/**
 * Asks drivers again how many volumes this node may have, and writes it into the CSINode: each `nodeAllocatableUpdatePeriodSeconds` of the CSIDriver, and when an
 * attachment has failed for the limit. Upstream: pkg/volume/csi/csi_node_updater.go, updateCSIDriver in csi_plugin.go.
 */
import type { DriverReply } from '../../../shared/contracts/volumes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { csiDriver as csiDriverSchema } from '../../../shared/kubernetes/schema/objects.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { acceptConforming, Reflector, type ApiClient, type ApiObject } from '../../api/index.ts';
import type { CsiNodeWriter } from './csi-node-writer.ts';

export interface AllocatableUpdatesOptions {
  readonly client: ApiClient;
  readonly readInfo: (driver: string) => Promise<DriverReply>;
  readonly csiNode: Pick<CsiNodeWriter, 'updateDriver'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface CsiDriverObject extends ApiObject {
  readonly spec?: { readonly nodeAllocatableUpdatePeriodSeconds?: number | null };
}

interface Updates {
  periodMs: number;
  cancel: () => void;
}

/** Upstream's validation of a CSIDriver has the lower bound. A timer has the upper one. */
const periodLimitsMs = { min: 10_000, max: 2 ** 31 - 1 };

export class AllocatableUpdates {
  readonly #options: AllocatableUpdatesOptions;
  /** The registered drivers. A period of 0: no updates. */
  readonly #drivers = new Map<string, Updates>();
  #reflector: Reflector<CsiDriverObject> | undefined;

  constructor(options: AllocatableUpdatesOptions) {
    this.#options = options;
  }

  /** Called when the driver is in the CSINode. The watch of all CSIDrivers begins with the first driver. */
  add(driver: string): void {
    this.#reflector ??= this.#startReflector();
    if (!this.#drivers.has(driver)) this.#drivers.set(driver, { periodMs: 0, cancel: () => {} });
    this.#follow();
  }

  remove(driver: string): void {
    this.#drivers.get(driver)?.cancel();
    this.#drivers.delete(driver);
  }

  /** Called when an attachment has failed for the limit. Resolves with whether the driver's limit may change, after an update of the limit. Never rejects. */
  async updateExhausted(driver: string): Promise<boolean> {
    if (this.#period(driver) === 0) return false;
    await this.#update(driver);
    return true;
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers.keys()) this.remove(driver);
    await this.#reflector?.close();
  }

  #startReflector(): Reflector<CsiDriverObject> {
    const { client, clock, logger } = this.#options;
    const follow = () => this.#follow();
    return Reflector.start<CsiDriverObject>({
      client,
      path: '/apis/storage.k8s.io/v1/csidrivers',
      trafficClass: 'objects',
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      accept: acceptConforming(csiDriverSchema, logger),
      handler: { onReplace: follow, onChange: follow },
      clock,
      logger,
    });
  }

  #period(driver: string): number {
    const seconds = this.#reflector?.objects.getByName('', driver)?.spec?.nodeAllocatableUpdatePeriodSeconds ?? 0;
    return seconds <= 0 ? 0 : Math.min(Math.max(seconds * 1000, periodLimitsMs.min), periodLimitsMs.max);
  }

  /** Restarts the timers of the drivers whose period has changed. */
  #follow(): void {
    for (const [driver, updates] of this.#drivers) {
      const period = this.#period(driver);
      if (period === updates.periodMs) continue;
      updates.cancel();
      updates.periodMs = period;
      if (period > 0) this.#schedule(driver, updates);
    }
  }

  #schedule(driver: string, updates: Updates): void {
    updates.cancel = this.#options.clock.after(updates.periodMs, () => void this.#runUpdate(driver, updates));
  }

  async #runUpdate(driver: string, updates: Updates): Promise<void> {
    const { periodMs: period } = updates;
    await this.#update(driver);
    // A new period has a timer already.
    if (this.#drivers.get(driver) === updates && updates.periodMs === period) this.#schedule(driver, updates);
  }

  /** Never rejects. */
  async #update(driver: string): Promise<void> {
    const { readInfo, csiNode, logger } = this.#options;
    try {
      const reply = await readInfo(driver);
      if (reply.outcome === 'failed') throw new Error(`failed to get NodeGetInfo from driver "${driver}": ${reply.message}`);
      await csiNode.updateDriver(driver, reply.info);
    } catch (err) {
      logger.error({ driver, err: messageOf(err) }, 'Failed to update the limit of a CSI driver');
    }
  }
}
