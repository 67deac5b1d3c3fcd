/** Serves `/healthz` and `/healthz/<check>` as upstream does (apiserver pkg/server/healthz). */
import type { HealthCheck } from './health.ts';
import { error, pageNotFound, ok, type Reply } from '../http/reply.ts';

/** The reply on the healthz port. Upstream serves nothing else there. */
export function replyOnHealthz(path: string, query: URLSearchParams, checks: () => readonly HealthCheck[]): Reply {
  return isHealthz(path) ? replyHealthz(path, query, checks()) : pageNotFound;
}

export function isHealthz(path: string): boolean {
  return path === '/healthz' || path.startsWith('/healthz/');
}

/** The path is `/healthz` or below it. */
export function replyHealthz(path: string, query: URLSearchParams, checks: readonly HealthCheck[]): Reply {
  if (path === '/healthz') return replyRoot(query, checks);
  const check = checks.find(({ name }) => path === `/healthz/${name}`);
  if (!check) return pageNotFound;
  return check.fault === '' ? ok('ok') : error(500, `internal server error: ${check.fault}`);
}

/** The results of all checks that the query does not exclude. As in upstream, the reasons are only in the log and at each check's own path. */
function replyRoot(query: URLSearchParams, checks: readonly HealthCheck[]): Reply {
  const excludedChecks = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const { name, fault, note } of checks) {
    if (excludedChecks.delete(name)) {
      lines.push(`[+]${name} excluded: ok`);
    } else if (fault === '') {
      lines.push(`[+]${name} ok${note && ` (${note})`}`);
    } else {
      failed = true;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  if (excludedChecks.size > 0) {
    const quoted = [...excludedChecks].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted.join(',')}`);
  }
  const page = `${lines.join('\n')}\n`;
  if (failed) return error(500, `${page}healthz check failed`);
  const reply = ok(query.has('verbose') ? `${page}healthz check passed\n` : 'ok');
  return { ...reply, headers: { ...reply.headers, 'X-Content-Type-Options': 'nosniff' } };
}
