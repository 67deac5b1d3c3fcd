/**
 * The server thread: every listener. It renders health and metrics from shared memory, reads logs and carries streams, asks main for the
 * rest, and decides nothing. Born and called by main (main/threads/server-thread.ts).
 */
import type { ListenAddress, SecureServerSettings, ServerApi, ServerBirth } from '../../shared/contracts/server.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { monotonicMs } from '../../shared/time/clock.ts';
import { HealthSource } from './health-source.ts';
import { Listener, type Exchange } from './listener.ts';
import type { OpenSecureServer } from './open-secure-server.ts';
import { renderPage } from './render.ts';
import { error, type Reply } from './reply.ts';
import { countRequest } from './request-metrics.ts';
import { parsePlain, replyOnHealthz, replyOnReadOnly, type Request, type Sources } from './routes.ts';
import { sendReply } from './send-reply.ts';
import { boundedUpcalls } from './upcalls.ts';

const { birth, logger, heart } = enterThread<ServerBirth>();
const heartbeats = new HeartbeatsReader(birth.heartbeats);
const health = new HealthSource(heartbeats, logger);
const main = boundedUpcalls(birth.main);
const sources: Sources = {
  health: () => health.checks(),
  resetHealthMetrics: () => health.resetMetrics(),
  metrics: (page) => renderPage(page, { segments: birth.metricsSegments, heartbeats, monotonicMs }),
  main,
};
/** Of the servers without authentication: scrapers and probes, not crowds. */
const plainConnections = { strangers: 256, strangersPerAddress: 256, admitted: 0 };

function plain(name: string, listen: ListenAddress | null, reply: (request: Request) => Promise<Reply>): Listener | null {
  const handle = async ({ request, response }: Exchange): Promise<void> => {
    const answer = await reply(parsePlain(request)).catch((err: unknown): Reply => {
      logger.error({ server: name, err, path: request.url?.slice(0, 200) }, 'request failed');
      return error(500, messageOf(err));
    });
    await sendReply(request, response, answer);
  };
  return listen && new Listener({ name, listen, logger, handle, connections: plainConnections });
}

const healthz = plain('healthz', birth.healthz, (request) => replyOnHealthz(request, sources));
// Upstream does not count the requests of the healthz port.
const readOnly = plain('readonly', birth.readOnly, (request) =>
  countRequest(request.method, request.path, 'readonly', () => replyOnReadOnly(request, sources)),
);
const secure = birth.secure && openSecure(birth.secure);

async function openSecure(settings: SecureServerSettings): Promise<OpenSecureServer | null> {
  try {
    // The runtime's client comes with it: 20 MB that a node without this server keeps.
    const { openSecureServer } = await import('./open-secure-server.ts');
    return await openSecureServer({ settings, birth, sources, main, logger });
  } catch (err) {
    // The other servers live on, and /healthz is theirs too.
    logger.error({ err }, 'the authenticated server can not be started');
    return null;
  }
}

const api: ServerApi = {
  async addresses() {
    const where = await Promise.all([healthz?.address(), readOnly?.address(), secure?.then((server) => server?.listener.address())]);
    return { healthz: where[0] ?? null, readOnly: where[1] ?? null, secure: where[2] ?? null };
  },
  async setServingCertificate(certificate) {
    (await secure)?.contexts.setServing(certificate);
  },
  async close() {
    health.close();
    await Promise.all([healthz?.close(), readOnly?.close(), secure?.then((server) => server?.close())]);
    heart.stop();
  },
};
serveThread(api);
