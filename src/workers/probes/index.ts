/**
 * The probes thread. It will run liveness, readiness and startup probes and post their results to main; today it lives, beats and
 * answers, so that what watches over threads watches over it, and no result is ever made up.
 */
import type { ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';

const { workerData: birth, heartbeat: heart } = enterThread<ProbesWorkerData>();

const api: ProbesApi = {
  async close() {
    heart.stop();
    birth.results.close();
  },
};
serveThread(api);
