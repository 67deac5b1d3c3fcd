/**
 * The server thread: every listener. It renders health and metrics from shared memory, asks main for the rest, and decides nothing.
 * Born and called by main (main/threads/server-thread.ts).
 */
import { fstat } from 'node:fs';
import { promisify } from 'node:util';
import type { ListenAddress, ServerApi, ServerBirth } from '../../shared/contracts/server.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { healthcheck, healthchecksTotal } from '../../shared/metrics/definitions/health.ts';
import { httpInflightRequests, httpRequests, httpRequestsDuration } from '../../shared/metrics/definitions/http.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { monotonicMs } from '../../shared/time/clock.ts';
import { healthChecks, type HealthCheck } from './health.ts';
import { Listener } from './listener.ts';
import { renderPage } from './render.ts';
import type { Reply } from './reply.ts';
import { requestLabels } from './request-metrics.ts';
import { replyOnHealthz, replyOnReadOnly, type Request, type Sources } from './routes.ts';
import { boundedUpcalls } from './upcalls.ts';

const { birth, logger, heart } = enterThread<ServerBirth>();
const heartbeats = new HeartbeatsReader(birth.heartbeats);
const stderr = 2;

const sources: Sources = {
  health: () => counted(healthChecks(heartbeats.threads(), monotonicMs(), logFault)),
  metrics: (page) => renderPage(page, { segments: birth.metricsSegments, heartbeats, monotonicMs }),
  main: boundedUpcalls(birth.main),
};

/** Lines are written where they are logged, so there is no flusher to watch: only whether the log's descriptor is still there. */
let logFault = '';
const logCheck = setInterval(() => {
  promisify(fstat)(stderr).then(
    () => (logFault = ''),
    (err: unknown) => (logFault = `the log can not be written: ${messageOf(err)}`),
  );
}, 10_000);

function counted(checks: HealthCheck[]): HealthCheck[] {
  for (const { name, fault } of checks) {
    healthcheck.set(fault === '' ? 1 : 0, { name, type: 'healthz' });
    healthchecksTotal.inc({ name, type: 'healthz', status: fault === '' ? 'success' : 'error' });
    if (fault !== '') logger.warn({ check: name, fault }, 'health check failed');
  }
  return checks;
}

/** The read-only server's requests are counted; upstream does not count those of the healthz port. */
async function replyCounted(request: Request): Promise<Reply> {
  const labels = requestLabels(request.method, request.path, 'readonly');
  const began = performance.now();
  httpRequests.inc(labels);
  httpInflightRequests.add(1, labels);
  try {
    return await replyOnReadOnly(request, sources);
  } finally {
    httpInflightRequests.add(-1, labels);
    httpRequestsDuration.observe((performance.now() - began) / 1000, labels);
  }
}

function listener(name: string, listen: ListenAddress | null, reply: (request: Request) => Promise<Reply>): Listener | null {
  return listen && new Listener({ name, listen, logger, reply });
}
const healthz = listener('healthz', birth.healthz, (request) => replyOnHealthz(request, sources));
const readOnly = listener('readonly', birth.readOnly, replyCounted);

const api: ServerApi = {
  addresses: async () => ({ healthz: (await healthz?.address()) ?? null, readOnly: (await readOnly?.address()) ?? null, secure: null }),
  setServingCertificate: async () => {},
  async close() {
    clearInterval(logCheck);
    await Promise.all([healthz?.close(), readOnly?.close()]);
    heart.stop();
  },
};
serveThread(api);
