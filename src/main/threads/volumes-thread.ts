/** Main's half of the volumes thread. The thread starts with the first call: a node without drivers and claims does not have it. */
import type {
  DriverReply,
  LocalVolumeRequest,
  PublishVolumeRequest,
  StorageHealthReply,
  UnpublishVolumeRequest,
  VolumeHealthReply,
  VolumeHealthRequest,
  VolumeReply,
  VolumeStatsReply,
  VolumeStatsRequest,
  VolumesApi,
  VolumesNotification,
  VolumesWorkerData,
} from '../../shared/contracts/volumes.ts';
import { LazyThread } from './lazy-thread.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';

export interface VolumesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<VolumesWorkerData, 'drivers'>;
  readonly onNotification: (notification: VolumesNotification) => void;
}

/** A reply of a driver has at most 1 MiB, and main bounds the volumes of a pod. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 2 };

export class VolumesThread {
  /** By name: the endpoints of the drivers. A restarted thread gets them with its worker data. */
  readonly #drivers = new Map<string, string>();
  readonly #lazy: LazyThread<VolumesApi>;

  constructor({ settings, onNotification, ...dependencies }: VolumesThreadOptions) {
    this.#lazy = new LazyThread(() =>
      startThread<VolumesApi, VolumesWorkerData>({
        ...dependencies,
        name: 'volumes',
        resourceLimits,
        onNotification: (notification) => onNotification(notification as VolumesNotification),
        onStart: () => ({ ...settings, drivers: new Map(this.#drivers) }),
      }),
    );
  }

  /** Starts the thread. Resolves when `onNotification` was called with what is on the node. */
  recover(): Promise<void> {
    return this.#lazy.thread.call((api) => api.recover(), { deadlineMs: null, retry: true });
  }
  /**
   * This call and the next ones have no deadline here: the thread limits the time of a driver's calls, and a volume's operations wait for each
   * other.
   */
  async setDriver(name: string, endpoint: string): Promise<DriverReply> {
    const reply = await this.#lazy.thread.call(async (api) => await api.setDriver(name, endpoint), { deadlineMs: null, retry: true });
    if (reply.outcome === 'info') this.#drivers.set(name, endpoint);
    return reply;
  }
  driverInfo(name: string): Promise<DriverReply> {
    return this.#lazy.thread.call(async (api) => await api.driverInfo(name), { deadlineMs: null, retry: true });
  }
  removeDriver(name: string): Promise<void> {
    this.#drivers.delete(name);
    return this.#lazy.thread.call((api) => api.removeDriver(name), { retry: true });
  }
  publishVolume(request: PublishVolumeRequest): Promise<VolumeReply> {
    return this.#lazy.thread.call(async (api) => await api.publishVolume(request), { deadlineMs: null, retry: true });
  }
  publishLocalVolume(request: LocalVolumeRequest): Promise<VolumeReply> {
    return this.#lazy.thread.call(async (api) => await api.publishLocalVolume(request), { deadlineMs: null, retry: true });
  }
  checkHostPath(path: string, type: string): Promise<VolumeReply> {
    return this.#lazy.thread.call(async (api) => await api.checkHostPath(path, type), { deadlineMs: null, retry: true });
  }
  volumeStats(request: VolumeStatsRequest): Promise<VolumeStatsReply> {
    return this.#lazy.thread.call(async (api) => await api.volumeStats(request), { deadlineMs: null });
  }
  volumeHealth(request: VolumeHealthRequest): Promise<VolumeHealthReply> {
    return this.#lazy.thread.call(async (api) => await api.volumeHealth(request), { deadlineMs: null });
  }
  storageHealth(driver: string): Promise<StorageHealthReply> {
    return this.#lazy.thread.call(async (api) => await api.storageHealth(driver), { deadlineMs: null });
  }
  unpublishVolume(request: UnpublishVolumeRequest): Promise<VolumeReply> {
    return this.#lazy.thread.call(async (api) => await api.unpublishVolume(request), { deadlineMs: null, retry: true });
  }
  close(): Promise<void> {
    return this.#lazy.close();
  }
}
