/**
 * The server thread: every listener but the healthz port. It renders health and metrics from shared memory, reads logs and carries
 * streams, asks main for the rest, and decides nothing. Born and called by main (main/threads/server-thread.ts).
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
import { createMainClient } from './main-client.ts';

const { workerData: birth, logger, heartbeat: heart } = enterThread<ServerWorkerData>();
const heartbeats = new HeartbeatsReader(birth.heartbeats);
const health = new HealthSource(heartbeats, logger);
const main = createMainClient(birth.main);
const sources: RouteSources = {
  health: () => health.checks(),
  resetHealthMetrics: () => {
    health.resetMetrics();
    return main.resetHealthMetrics();
  },
  metrics: (page) => renderMetricsPage(page, { segments: birth.metricsSegments, heartbeats, monotonicMs }),
  main,
};

const readOnly =
  birth.readOnly &&
  new PlainServer({
    name: 'readonly',
    listen: birth.readOnly,
    logger,
    reply: (request) => countRequest(request.method, request.path, 'readonly', () => replyOnReadOnly(request, sources)),
  });
const secure = birth.secure && openSecure(birth.secure);

async function openSecure(settings: SecureServerSettings): Promise<OpenSecureServer | null> {
  try {
    // The runtime's client comes with it: 20 MB that a node without this server keeps.
    const { openSecureServer } = await import('./open-secure-server.ts');
    return await openSecureServer({ settings, workerData: birth, sources, main, logger });
  } catch (err) {
    logger.error({ err }, 'the authenticated server can not be started');
    return null;
  }
}

const api: ServerApi = {
  async addresses() {
    const where = await Promise.all([readOnly?.address(), secure?.then((server) => server?.listener.address())]);
    return { readOnly: where[0] ?? null, secure: where[1] ?? null };
  },
  async setServingCertificate(certificate) {
    (await secure)?.contexts.setServing(certificate);
  },
  async close() {
    health.close();
    await Promise.all([readOnly?.close(), secure?.then((server) => server?.close())]);
    heart.stop();
  },
};
serveThread(api);
