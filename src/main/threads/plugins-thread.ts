/** Main's half of the plugins thread. The thread starts with the first call. */
import type { PluginInfoReply, PluginsApi, PluginsWorkerData, RegistrationStatus } from '../../shared/contracts/plugins.ts';
import { LazyThread } from './lazy-thread.ts';
import { startThread, type ThreadDependencies } from './start-thread.ts';

/** A reply has at most 64 KiB. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export class PluginsThread {
  readonly #lazy: LazyThread<PluginsApi>;

  constructor(dependencies: ThreadDependencies) {
    this.#lazy = new LazyThread(() =>
      startThread<PluginsApi, PluginsWorkerData>({ ...dependencies, name: 'plugins', resourceLimits, onStart: () => ({}) }),
    );
  }

  getInfo(socketPath: string): Promise<PluginInfoReply> {
    return this.#lazy.thread.call(async (api) => await api.getInfo(socketPath));
  }
  notifyRegistrationStatus(socketPath: string, status: RegistrationStatus): Promise<string | null> {
    return this.#lazy.thread.call((api) => api.notifyRegistrationStatus(socketPath, status));
  }
  close(): Promise<void> {
    return this.#lazy.close();
  }
}
