/**
 * The probes thread. It will run liveness, readiness and startup probes and post their results to main. So far it only has a heartbeat, is supervised like
 * the other threads, and posts no result. Started by main (main/threads/probes-thread.ts).
 */
import type { ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';

const { workerData, heartbeat } = enterThread<ProbesWorkerData>();

const api: ProbesApi = {
  async setPods() {},
  async removePods() {},
  async renderMetrics() {
    return new Uint8Array();
  },
  async close() {
    heartbeat.stop();
    workerData.results.close();
  },
};
serveThread(api);
