/** Creates the authenticated server from its parts: TLS contexts, logs, streams, routes, authentication and the listener. */
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { SecureServerSettings, ServerWorkerData } from '../../shared/contracts/server/settings.ts';
import { CriClient } from '../../shared/cri/client.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { RuntimeSnapshotReader } from '../../shared/state/runtime-snapshot.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { Listener } from './listener.ts';
import { createContainerLogs } from './logs/index.ts';
import { createProfilingHandler } from './pprof/profiling-handler.ts';
import { countRequest } from './request-metrics.ts';
import type { RouteSources } from './routes.ts';
import { createSecureRoutes } from './secure-routes.ts';
import { SecureServer, type SecureServerOptions } from './secure-server.ts';
import { createStreaming } from './streaming/index.ts';
import { nodeLogDir, createSystemLogsHandler } from './system-logs/system-logs-handler.ts';
import { TlsContexts } from './tls/tls-contexts.ts';
import { createTimelineHandler } from './timeline/index.ts';
import { createVerbosityHandler } from './verbosity-flag.ts';
import { createFlagzHandler, createStatuszHandler } from './zpages/zpages-handlers.ts';

export interface OpenSecureServerOptions {
  readonly settings: SecureServerSettings;
  readonly workerData: ServerWorkerData;
  readonly sources: RouteSources;
  readonly main: MainApi;
  readonly logger: Logger;
}

export interface OpenSecureServer {
  readonly listener: Listener;
  readonly contexts: TlsContexts;
  close(): Promise<void>;
}

/**
 * Connection limits. Log followers and streams keep authorized connections for long, several per pod of the node. The limits of unauthorized
 * connections exceed what an API server opens at once after its restart. An idle connection costs 50 KB.
 */
const connections = { unauthorized: 320, unauthorizedPerAddress: 256, authorized: 1024 };

/** Resolves when the server listens or retries to listen. Rejects for TLS versions, ciphers or groups that OpenSSL refuses. */
export async function openSecureServer({
  settings,
  workerData,
  sources,
  main,
  logger,
}: OpenSecureServerOptions): Promise<OpenSecureServer> {
  const { authentication, listen, version, handlers } = settings;
  const { clientCAFile, reloadClientCAFile } = authentication;
  const contexts = await TlsContexts.start({
    tls: settings.tls,
    clientCAFile,
    reloadClientCAFile,
    servingCertificate: workerData.servingCertificate,
    logger,
  });

  const logs = createContainerLogs({
    resolveContainer: main.resolveContainer,
    settings: workerData.streaming,
    snapshot: new RuntimeSnapshotReader(workerData.snapshot),
    logger,
  });
  let client: CriClient | null = null;
  const { runtimeEndpoint } = workerData.streaming;
  const streaming = createStreaming({
    resolveContainer: main.resolveContainer,
    settings: workerData.streaming,
    cri: () => (client ??= new CriClient({ endpoint: runtimeEndpoint, onCall: countRuntimeOperation })),
    clock: systemClock,
    logger,
  });
  const statuszOptions = { version, startedAtMs: Date.now() - process.uptime() * 1000, now: Date.now };
  const routes = createSecureRoutes({
    switches: handlers,
    health: sources.health,
    metrics: sources,
    summary: sources.summary,
    podList: sources.podList,
    main,
    logs,
    streaming,
    extra: {
      systemLogs: createSystemLogsHandler({
        roots: [nodeLogDir, workerData.streaming.podLogsDir],
        queries: handlers.systemLogQuery,
        journalctl: 'journalctl',
      }),
      profiling: createProfilingHandler(),
      verbosity: workerData.logging.live ? createVerbosityHandler(workerData.logging.live) : null,
      flagz: createFlagzHandler(main),
      timeline: createTimelineHandler(workerData.timelines.table),
      statusz: (roots) => createStatuszHandler(statuszOptions, roots),
    },
  });

  const clientCertificates: SecureServerOptions['clientCertificates'] = {
    peer: (connection) => listener.peerCertificate(connection),
    clientCAGeneration: () => contexts.current.clientCAGeneration,
  };
  const server = new SecureServer({ settings, main, routes, clientCertificates, clock: systemClock, logger });
  const listener: Listener = new Listener({
    name: 'secure',
    listen,
    logger,
    connections,
    tls: { contexts, requestCert: clientCAFile !== '' },
    handle: (exchange) => {
      const { method = '', url = '' } = exchange.request;
      return countRequest(method, url.split('?', 1)[0]!, 'readwrite', () => server.serve(exchange));
    },
  });
  return {
    listener,
    contexts,
    async close() {
      contexts.close();
      logs.close();
      streaming.close();
      await listener.close();
      client?.close();
    },
  };
}
