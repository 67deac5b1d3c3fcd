/**
 * `/debug/pprof/`: profiles of the main thread for `go tool pprof`: `profile` (CPU) and `heap`, each taken over `?seconds`. Upstream's
 * other profiles are of things that only Go has (goroutines, mutexes); they are unknown here.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { error, methodNotAllowed, ok, restfulNotFound, type Reply } from '../../../shared/http/reply.ts';
import type { RoutedRequest, Handler } from '../secure-routes.ts';
import { takeCpuProfile, takeHeapProfile } from './take-profile.ts';

const root = '/debug/pprof/';
/** As Go's pprof for a CPU profile. */
const defaultSeconds = { profile: 30, heap: 5 };
const maxSeconds = 600;
const compress = promisify(gzip);

export function createProfilingHandler(): Handler {
  let underWay = false;
  return async (asked) => {
    if (asked.method !== 'GET') return methodNotAllowed('GET');
    const name = asked.path.slice(root.length);
    switch (name) {
      case '':
        return ok(index, 'text/html; charset=utf-8');
      case 'cmdline':
        // A thread's process.argv is its own entry.
        return ok((await readFile('/proc/self/cmdline', 'utf8')).replace(/\0$/, ''));
      case 'symbol':
        // The profiles bring their names along.
        return ok('num_symbols: 1\n');
      case 'profile':
      case 'heap': {
        const seconds = readSeconds(asked.query, defaultSeconds[name]);
        if (seconds === null) return error(400, `seconds: a number of up to ${maxSeconds}`);
        if (underWay) return error(500, 'Could not enable profiling: another profile is being taken');
        underWay = true;
        try {
          return await send(asked, name, seconds);
        } finally {
          underWay = false;
        }
      }
      default:
        return name.includes('/') ? restfulNotFound : error(404, 'Unknown profile');
    }
  };
}

async function send({ request, response }: RoutedRequest, name: 'profile' | 'heap', seconds: number): Promise<Reply | null> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  request.socket.setTimeout((seconds + 60) * 1000);
  const take = name === 'profile' ? takeCpuProfile : takeHeapProfile;
  const bytes = await compress(await take(seconds, gone.signal));
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
