/** Request metrics. The label values are a bounded set, whatever clients send. Upstream: pkg/kubelet/server/server.go. */
import { httpInflightRequests, httpRequests, httpRequestsDuration } from '../../shared/metrics/definitions/http.ts';

const methods = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const paths = new Set([
  'healthz',
  'pods',
  'stats',
  'metrics',
  'metrics/cadvisor',
  'metrics/probes',
  'metrics/resource',
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'configz',
  'runningpods',
  'pprof',
  'logs',
]);
/** Paths of the authenticated server only. Profiles are counted as `debug`. */
const securePaths = new Set(['allocatedPods', 'debug', 'checkpoint', 'flagz', 'statusz']);
/** Upstream's map. Its `portforward` never matches, because the path is `portForward`. */
const longRunning = new Set(['exec', 'attach', 'portforward', 'debug']);

export function requestLabels(method: string, path: string, serverType: 'readonly' | 'readwrite') {
  const [first = '', second] = path.replace(/^\//, '').split('/', 3);
  const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  const isKnownPath = paths.has(root) || (serverType === 'readwrite' && securePaths.has(root));
  const bucket = isKnownPath ? root : 'other';
  return {
    method: methods.has(method) ? method : 'other',
    path: bucket,
    server_type: serverType,
    long_running: String(longRunning.has(bucket)),
  };
}

/** Counts a request, and measures it until its response or its stream has ended. */
export async function countRequest<T>(
  method: string,
  path: string,
  serverType: 'readonly' | 'readwrite',
  answer: () => Promise<T>,
): Promise<T> {
  const labels = requestLabels(method, path, serverType);
  const startedAtMs = performance.now();
  httpRequests.inc(labels);
  httpInflightRequests.add(1, labels);
  try {
    return await answer();
  } finally {
    httpInflightRequests.add(-1, labels);
    httpRequestsDuration.observe((performance.now() - startedAtMs) / 1000, labels);
  }
}
