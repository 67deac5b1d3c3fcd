/**
 * `/logs/`: serves the host's logs as files, and by service if enableSystemLogQuery is on. Upstream: ServeLogs and logServer of
 * pkg/kubelet/kubelet.go.
 */
import { error, methodNotAllowed, type Reply } from '../../../shared/http/reply.ts';
import type { RoutedRequest, Handler } from '../secure-routes.ts';
import { aggregate, validateLogQuery, parseLogQuery, type LogQuery } from './log-query.ts';
import { openInside } from './open-inside.ts';
import { serveFile } from './serve-file.ts';
import { writeServiceLogs } from './service-logs.ts';

export interface SystemLogsOptions {
  /** The host's log folder, then other folders that its symlinks may lead to. */
  readonly roots: readonly [string, ...string[]];
  /** Whether the logs of services can be queried (enableSystemLogQuery). */
  readonly queries: boolean;
  readonly journalctl: string;
}

/** Upstream: nodeLogDir. */
export const nodeLogDir = '/var/log';
/** Limit for concurrent queries. Each runs at most two processes. */
const maxQueries = 8;
/** Timeout for a client that stops reading. */
const stalledMs = 60_000;

export function createSystemLogsHandler(options: SystemLogsOptions): Handler {
  let runningQueries = 0;

  const serveQuery = async (query: LogQuery, routed: RoutedRequest): Promise<Reply | null> => {
    if (runningQueries >= maxQueries) return { ...error(503, 'too many queries for logs are under way'), headers: { 'Retry-After': '5' } };
    runningQueries += 1;
    try {
      await writeServiceLogs(query, routed, options);
      return null;
    } finally {
      runningQueries -= 1;
    }
  };

  return async (routed) => {
    const { method, path, query } = routed;
    if (method !== 'GET') return methodNotAllowed('GET');
    routed.request.socket.setTimeout(stalledMs);
    const file = path.slice('/logs/'.length);
    const logQuery = options.queries ? parseLogQuery(query) : null;
    if (logQuery === null) return serveFile(options.roots, file, routed);
    if (Array.isArray(logQuery)) return error(400, aggregate(logQuery));
    if (file !== '') return error(406, 'path not allowed in query mode');
    const faults = [...validateLogQuery(logQuery), ...(await findMissingFile(logQuery, options.roots))];
    if (faults.length > 0) return error(406, aggregate(faults));
    if (logQuery.services.length > 0) return serveQuery(logQuery, routed);
    const [firstFile = ''] = logQuery.files;
    return serveFile(options.roots, relative(firstFile), routed);
  };
}

/** A file named by the query must exist. */
async function findMissingFile({ files, services }: LogQuery, roots: SystemLogsOptions['roots']): Promise<string[]> {
  const [fileName] = files;
  if (fileName === undefined || files.length > 1 || services.length > 0) return [];
  const opened = await openInside(roots, relative(fileName));
  if (opened.type === 'file' || opened.type === 'folder') await opened.handle.close();
  else return [`query: Invalid value: []string{${JSON.stringify(fileName)}}: no such file or directory`];
  return [];
}

/** Accepts backslashes too, as on Windows. */
function relative(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\/+/, '');
}
