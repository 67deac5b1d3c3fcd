/**
 * The server thread: every listener except the healthz port. It renders health and metrics from shared memory, reads logs, proxies
 * streams and calls main for everything else. It takes no decisions. Started and called by main (main/threads/server-thread.ts).
 */
import type { ServerApi } from '../../shared/contracts/server/calls.ts';
import type { SecureServerSettings, ServerWorkerData } from '../../shared/contracts/server/settings.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { monotonicMs } from '../../shared/time/clock.ts';
import { HealthSource } from '../../shared/health/health-source.ts';
import type { OpenSecureServer } from './open-secure-server.ts';
import { renderMetricsPage } from './render-metrics-page.ts';
import { countRequest } from './request-metrics.ts';
import { replyOnReadOnly, type RouteSources } from './routes.ts';
import { PlainServer } from '../../shared/http/plain-server.ts';
import { ok } from '../../shared/http/reply.ts';
import { createMainClient } from './main-client.ts';
import { GrpcServices } from './grpc-services.ts';
import { LocalSocket } from './local-socket.ts';
import { createStatsPages } from './stats/stats-pages.ts';
import { createPodLists } from './pod-lists/pod-lists.ts';
import { replyEviction } from './eviction/reply-eviction.ts';
import { replyTimeline } from './timeline/index.ts';

const { workerData, logger, heartbeat } = enterThread<ServerWorkerData>();
const heartbeats = new HeartbeatsReader(workerData.heartbeats);
const health = new HealthSource(heartbeats, logger);
const main = createMainClient(workerData.main);
const stats = createStatsPages(workerData.stats);
const sources: RouteSources = {
  health: () => health.checks(),
  resetHealthMetrics: () => {
    health.resetMetrics();
    return main.resetHealthMetrics();
  },
  summary: (onlyCpuAndMemory) => stats.summary(onlyCpuAndMemory),
  nativeHistograms: workerData.nativeHistograms,
  metrics: (page, format) =>
    renderMetricsPage(page, format, {
      segments: workerData.metricsSegments,
      heartbeats,
      monotonicMs,
      main,
      stats,
      metricsProvider: workerData.stats.fromRuntime ? 'cri' : 'cadvisor',
    }),
  podList: createPodLists(main),
};

const readOnly =
  workerData.readOnly &&
  new PlainServer({
    name: 'readonly',
    listen: workerData.readOnly,
    logger,
    reply: (request) => countRequest(request.method, request.path, 'readonly', () => replyOnReadOnly(request, sources)),
  });
const { table, socketDir } = workerData.timelines;
const localSocket = new LocalSocket(
  socketDir,
  {
    '/timeline': (request) => replyTimeline(table, request),
    '/image-gc': async () => ok(await main.imageGcPlan(), 'application/json'),
    '/eviction': (request) => replyEviction((signal) => main.evictionPlan(signal), request),
  },
  logger,
);
const grpcServices = new GrpcServices(workerData.grpcSockets, main, logger);
const secure = workerData.secure && openSecure(workerData.secure);

async function openSecure(settings: SecureServerSettings): Promise<OpenSecureServer | null> {
  try {
    // Imported on demand: the runtime client, which this module imports, takes 20 MB.
    const { openSecureServer } = await import('./open-secure-server.ts');
    return await openSecureServer({ settings, workerData, sources, main, logger });
  } catch (err) {
    logger.error({ err }, 'failed to start the authenticated server');
    return null;
  }
}

const api: ServerApi = {
  async addresses() {
    const [readOnlyAddress, secureAddress] = await Promise.all([readOnly?.address(), secure?.then((server) => server?.listener.address())]);
    return { readOnly: readOnlyAddress ?? null, secure: secureAddress ?? null };
  },
  async setServingCertificate(certificate) {
    (await secure)?.contexts.setServing(certificate);
  },
  async close() {
    health.close();
    await Promise.all([readOnly?.close(), localSocket.close(), grpcServices.close(), secure?.then((server) => server?.close())]);
    heartbeat.stop();
  },
};
serveThread(api);
