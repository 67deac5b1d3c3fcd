/** The labels under which a request is counted (upstream pkg/kubelet/server/server.go): a bounded set, whatever clients send. */
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
const longRunning = new Set(['exec', 'attach', 'portforward', 'debug']);

export function requestLabels(method: string, path: string, serverType: 'readonly' | 'readwrite') {
  const [first = '', second] = path.replace(/^\//, '').split('/', 3);
  const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  const bucket = paths.has(root) ? root : 'other';
  return {
    method: methods.has(method) ? method : 'other',
    path: bucket,
    server_type: serverType,
    long_running: String(longRunning.has(bucket)),
  };
}
