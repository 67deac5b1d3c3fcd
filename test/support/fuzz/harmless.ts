/**
 * Protects the test host from generated pods: they must not reach beyond loopback, nor write to host paths outside of the test's
 * folder. All other fields stay as generated.
 */
type Fields = Record<string, unknown>;

/** Returns the pod with its hostPaths below the folder, and its hooks directed at loopback. */
export function harmless(pod: Fields, folder: string): Fields {
  return walk(pod, (key, value) => {
    if (key === 'hostPath') return { ...asObject(value), path: pathBelow(folder, asObject(value)['path']) };
    if (key === 'httpGet' || key === 'tcpSocket' || key === 'grpc') return { ...asObject(value), host: '127.0.0.1' };
    return value;
  }) as Fields;
}

/** Keeps unusual names, but no relative paths: these would be relative to the kubelet's working directory. */
function pathBelow(folder: string, path: unknown): unknown {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return path;
  return `${folder}/${path.replaceAll('..', 'dots')}`;
}

function asObject(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function walk(value: unknown, change: (key: string, value: unknown) => unknown, depth = 0): unknown {
  // The kubelet reads no field at this depth.
  if (depth > 50 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => walk(element, change, depth + 1));
  const entries = Object.entries(value).map(([key, element]) => [key, walk(change(key, element), change, depth + 1)] as const);
  return Object.fromEntries(entries);
}
