/** Main's half of the plugins thread. The thread starts with the first call. */
import type { PluginInfoReply, PluginsApi, PluginsWorkerData, RegistrationStatus } from '../../shared/contracts/plugins.ts';
import { startThread, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

/** A reply has at most 64 KiB. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export class PluginsThread {
  readonly #dependencies: ThreadDependencies;
  #thread: Thread<PluginsApi> | undefined;

  constructor(dependencies: ThreadDependencies) {
    this.#dependencies = dependencies;
  }

  getInfo(socketPath: string): Promise<PluginInfoReply> {
    return this.#started().call(async (api) => await api.getInfo(socketPath));
  }
  notifyRegistrationStatus(socketPath: string, status: RegistrationStatus): Promise<string | null> {
    return this.#started().call((api) => api.notifyRegistrationStatus(socketPath, status));
  }
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #started(): Thread<PluginsApi> {
    this.#thread ??= startThread<PluginsApi, PluginsWorkerData>({
      ...this.#dependencies,
      name: 'plugins',
      resourceLimits,
      onStart: () => ({}),
    });
    return this.#thread;
  }
}
