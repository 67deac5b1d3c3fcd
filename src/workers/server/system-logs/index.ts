/**
 * `/logs/`: the host's own logs, as files, and by service where that is allowed (enableSystemLogQuery). Upstream: ServeLogs and logServer
 * of pkg/kubelet/kubelet.go.
 */
import { error, methodNotAllowed, type Reply } from '../../../shared/http/reply.ts';
import type { RoutedRequest, Handler } from '../secure-routes.ts';
import { aggregate, logQueryFaults, parseLogQuery, type LogQuery } from './log-query.ts';
import { openInside } from './open-inside.ts';
import { serveFile } from './serve-file.ts';
import { writeServiceLogs } from './service-logs.ts';

export interface SystemLogsOptions {
  /** The host's folder of logs, and where its symlinks may lead besides. */
  readonly roots: readonly [string, ...string[]];
  readonly queries: boolean;
  readonly journalctl: string;
}

/** Upstream: nodeLogDir. */
export const nodeLogDir = '/var/log';
/** Each is two processes at the most, and as much as a client may ask for. */
const maxQueries = 8;
/** Of a client that takes nothing of a long file. */
const stalledMs = 60_000;

export function createSystemLogsHandler(options: SystemLogsOptions): Handler {
  let queries = 0;

  const byQuery = async (query: LogQuery, asked: RoutedRequest): Promise<Reply | null> => {
    if (queries >= maxQueries) return { ...error(503, 'too many queries for logs are under way'), headers: { 'Retry-After': '5' } };
    queries += 1;
    try {
      await writeServiceLogs(query, asked.response, options);
      return null;
    } finally {
      queries -= 1;
    }
  };

  return async (asked) => {
    const { method, path, query } = asked;
    if (method !== 'GET') return methodNotAllowed('GET');
    asked.request.socket.setTimeout(stalledMs);
    const file = path.slice('/logs/'.length);
    const wanted = options.queries ? parseLogQuery(query) : null;
    if (wanted === null) return serveFile(options.roots, file, asked);
    if (Array.isArray(wanted)) return error(400, aggregate(wanted));
    if (file !== '') return error(406, 'path not allowed in query mode');
    const faults = [...logQueryFaults(wanted), ...(await missingFile(wanted, options.roots))];
    if (faults.length > 0) return error(406, aggregate(faults));
    if (wanted.services.length > 0) return byQuery(wanted, asked);
    const [named = ''] = wanted.files;
    return serveFile(options.roots, relative(named), asked);
  };
}

/** A file that is asked for by query must be there. */
async function missingFile({ files, services }: LogQuery, roots: SystemLogsOptions['roots']): Promise<string[]> {
  const [named] = files;
  if (named === undefined || files.length > 1 || services.length > 0) return [];
  const opened = await openInside(roots, relative(named));
  if (opened.type === 'file' || opened.type === 'folder') await opened.handle.close();
  else return [`query: Invalid value: []string{${JSON.stringify(named)}}: no such file or directory`];
  return [];
}

/** As those write it who come from Windows, too. */
function relative(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\/+/, '');
}
