/**
 * The health thread serves `/healthz` on the healthz port, from the heartbeats of all threads, and does nothing else. It has its own heap: a client that
 * exhausts the server thread cannot keep a liveness probe from learning which thread failed. Started and called by main (main/threads/health-thread.ts).
 */
import type { HealthApi, HealthWorkerData } from '../../shared/contracts/health.ts';
import { HealthSource } from '../../shared/health/health-source.ts';
import { replyOnHealthz } from '../../shared/health/healthz.ts';
import { PlainServer } from '../../shared/http/plain-server.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';

const { workerData, logger, heartbeat } = enterThread<HealthWorkerData>();
const health = new HealthSource(new HeartbeatsReader(workerData.heartbeats), logger);
// Upstream does not count the requests of this port.
const server = new PlainServer({
  name: 'healthz',
  listen: workerData.listen,
  logger,
  reply: async ({ path, query }) => replyOnHealthz(path, query, () => health.checks()),
});

const api: HealthApi = {
  address: () => server.address(),
  async resetMetrics() {
    health.resetMetrics();
  },
  async close() {
    health.close();
    await server.close();
    heartbeat.stop();
  },
};
serveThread(api);
