/**
 * `/debug/pprof/`: serves profiles of the main thread for `go tool pprof`: `profile` (CPU) and `heap`, each taken over `?seconds`.
 * Upstream's other profiles describe parts of the Go runtime (goroutines, mutexes) and are not served.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { error, methodNotAllowed, ok, restfulNotFound, type Reply } from '../../../shared/http/reply.ts';
import type { RoutedRequest, Handler } from '../secure-routes.ts';
import { takeCpuProfile, takeHeapProfile } from './take-profile.ts';

const root = '/debug/pprof/';
/** The CPU profile's default is that of Go's pprof. */
const defaultSeconds = { profile: 30, heap: 5 };
const maxSeconds = 600;
const compress = promisify(gzip);

export function createProfilingHandler(): Handler {
  let isProfiling = false;
  return async (routed) => {
    if (routed.method !== 'GET') return methodNotAllowed('GET');
    const name = routed.path.slice(root.length);
    switch (name) {
      case '':
        return ok(index, 'text/html; charset=utf-8');
      case 'cmdline':
        // A worker thread's process.argv names the worker's script.
        return ok((await readFile('/proc/self/cmdline', 'utf8')).replace(/\0$/, ''));
      case 'symbol':
        // The profiles contain their symbols.
        return ok('num_symbols: 1\n');
      case 'profile':
      case 'heap': {
        const seconds = readSeconds(routed.query, defaultSeconds[name]);
        if (seconds === null) return error(400, `seconds: a number of up to ${maxSeconds}`);
        if (isProfiling) return error(500, 'Could not enable profiling: another profile is being taken');
        isProfiling = true;
        try {
          return await send(routed, name, seconds);
        } finally {
          isProfiling = false;
        }
      }
      default:
        return name.includes('/') ? restfulNotFound : error(404, 'Unknown profile');
    }
  };
}

async function send({ request, response }: RoutedRequest, name: 'profile' | 'heap', seconds: number): Promise<Reply | null> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  // The connection is idle while the profile is taken.
  request.socket.setTimeout((seconds + 60) * 1000);
  const take = name === 'profile' ? takeCpuProfile : takeHeapProfile;
  const bytes = await compress(await take(seconds, disconnected.signal));
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': bytes.length,
  });
  response.end(bytes);
  return null;
}

function readSeconds(query: URLSearchParams, fallback: number): number | null {
  const text = query.get('seconds') ?? '';
  const seconds = text === '' ? fallback : Number(text);
  return seconds > 0 && seconds <= maxSeconds ? seconds : null;
}

const index = `<html>
<head><title>/debug/pprof/</title></head>
<body>
<p>Profiles of the main thread:</p>
<ul>
<li><a href='profile?seconds=${defaultSeconds.profile}'>profile</a>: where its time goes</li>
<li><a href='heap?seconds=${defaultSeconds.heap}'>heap</a>: what it allocates meanwhile and keeps</li>
<li><a href='cmdline'>cmdline</a></li>
</ul>
</body>
</html>
`;
