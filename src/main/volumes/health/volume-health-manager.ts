/**
 * Asks CSI drivers each period about the health of volumes and of the storage behind them, and reports what has changed: in the statuses of pods, in the CSINode, and in
 * a metric. A driver is asked one thing after the other, and drivers do not wait for each other: one that does not answer has one call open. A failure leaves what
 * was reported before. Upstream: pkg/kubelet/volumemanager/volumehealth (gate CSIVolumeHealth).
 */
import type { StorageHealthCondition, VolumesApi } from '../../../shared/contracts/volumes.ts';
import { contain } from '../../../shared/faults/contain.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { VolumeHealthCondition } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../../api/index.ts';
import type { CsiNodeWriter } from '../csi-node/csi-node-writer.ts';
import type { ClaimedCsiVolume } from './claimed-csi-volume.ts';
import { StorageHealthMetrics } from './storage-health-metrics.ts';

export interface VolumeHealthManagerOptions {
  readonly thread: Pick<VolumesApi, 'volumeHealth' | 'storageHealth'>;
  /** Returns the volumes to ask about. */
  readonly volumes: () => readonly ClaimedCsiVolume[];
  /** Called with each answer. The receiver finds out whether something has changed. */
  readonly setPodHealth: (uid: PodUID, volumeName: string, conditions: readonly VolumeHealthCondition[]) => void;
  /** Undefined when standalone. */
  readonly csiNode: Pick<CsiNodeWriter, 'setStorageHealth'> | undefined;
  readonly periodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class VolumeHealthManager {
  readonly #options: VolumeHealthManagerOptions;
  readonly #registered = new Set<string>();
  /** The drivers that are being asked. */
  readonly #asked = new Set<string>();
  readonly #metrics = new StorageHealthMetrics();
  #cancel = () => {};
  #isClosed = false;

  constructor(options: VolumeHealthManagerOptions) {
    this.#options = options;
  }

  /** Asks for the first time after a period. */
  start(): void {
    const { clock, periodMs } = this.#options;
    this.#cancel = clock.after(periodMs, () => {
      this.start();
      this.#askAll();
    });
  }

  /** Called when the driver can be used. */
  add(driver: string): void {
    this.#registered.add(driver);
  }

  /** Called when the driver has left. Nothing else would ever remove what it has reported of its storage. */
  remove(driver: string): void {
    if (!this.#registered.delete(driver)) return;
    this.#metrics.set(driver, []);
    void this.#writeStorageHealth(driver, []);
  }

  /** Asks nothing more, and reports no answer to a call under way. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #askAll(): void {
    const volumes = Map.groupBy(this.#options.volumes(), ({ request }) => request.driver);
    for (const driver of this.#registered.union(volumes)) if (!this.#asked.has(driver)) void this.#ask(driver, volumes.get(driver) ?? []);
  }

  /** Never rejects. */
  async #ask(driver: string, volumes: readonly ClaimedCsiVolume[]): Promise<void> {
    this.#asked.add(driver);
    if (this.#registered.has(driver)) await this.#askAboutStorage(driver);
    for (const volume of volumes) await this.#askAboutVolume(volume);
    this.#asked.delete(driver);
  }

  /** Never rejects. */
  async #askAboutVolume({ uid, volumeName, request }: ClaimedCsiVolume): Promise<void> {
    if (this.#isClosed) return;
    const { thread, setPodHealth, logger } = this.#options;
    const reply = await thread.volumeHealth(request).catch(failed);
    if (this.#isClosed) return;
    const fields = { driver: request.driver, podUID: uid, volume: volumeName };
    if (reply.outcome === 'reported')
      contain({ handler: 'volume health', logger, fields }, () => setPodHealth(uid, volumeName, reply.conditions));
    if (reply.outcome === 'failed')
      logger.debug({ ...fields, err: reply.message }, 'NodeGetVolumeHealth failed; leaving previous conditions unchanged');
  }

  /** Never rejects. */
  async #askAboutStorage(driver: string): Promise<void> {
    const { thread, logger } = this.#options;
    const reply = await thread.storageHealth(driver).catch(failed);
    if (this.#isClosed || !this.#registered.has(driver)) return;
    if (reply.outcome === 'failed')
      logger.debug({ driver, err: reply.message }, 'NodeGetStorageHealth failed; leaving previous conditions unchanged');
    if (reply.outcome !== 'reported') return;
    this.#metrics.set(driver, reply.conditions);
    await this.#writeStorageHealth(driver, reply.conditions);
  }

  /** Never rejects. The next period repeats what has failed. */
  async #writeStorageHealth(driver: string, conditions: readonly StorageHealthCondition[]): Promise<void> {
    const { csiNode, clock, logger } = this.#options;
    await csiNode
      ?.setStorageHealth(driver, conditions, clock.now())
      .catch((err: unknown) => logger.error({ driver, err: withoutTexts(err) }, 'Failed to update CSINode storage health'));
  }
}

function failed(err: unknown) {
  return { outcome: 'failed', message: messageOf(err) } as const;
}

/** The API server quotes what it finds invalid: texts of the driver, which may have a part of a secret. */
function withoutTexts(err: unknown): string {
  return err instanceof ApiError && err.code === 422 ? 'the API server does not admit the conditions' : messageOf(err);
}
