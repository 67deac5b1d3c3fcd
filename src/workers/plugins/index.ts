/**
 * The plugins thread calls the registration services of plugins for main (main/plugins/), which decides. Started by main (main/threads/plugins-thread.ts) with the
 * first socket.
 */
import type { PluginsApi, PluginsWorkerData } from '../../shared/contracts/plugins.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { getInfo, notifyRegistrationStatus } from './registration/plugin-registration.ts';

const { heartbeat } = enterThread<PluginsWorkerData>();

const api: PluginsApi = {
  getInfo,
  notifyRegistrationStatus,
  async close() {
    heartbeat.stop();
  },
};
serveThread(api);
