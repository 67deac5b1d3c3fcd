/**
 * What a hostile pod must not do to the host of the test, however absurd it is: reach beyond loopback, or write below a path of the host that
 * is not the test's. All other fields are as they were made.
 */
type Fields = Record<string, unknown>;

/** The pod with its hostPaths below the folder, and its hooks aimed at loopback. */
export function harmless(pod: Fields, folder: string): Fields {
  return walk(pod, (key, value) => {
    if (key === 'hostPath') return { ...asObject(value), path: pathBelow(folder, asObject(value)['path']) };
    if (key === 'httpGet' || key === 'tcpSocket' || key === 'grpc') return { ...asObject(value), host: '127.0.0.1' };
    return value;
  }) as Fields;
}

/** Odd names stay odd, and relative ones are kept off: they would be the folder's that the kubelet runs in. */
function pathBelow(folder: string, path: unknown): unknown {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return path;
  return `${folder}/${path.replaceAll('..', 'dots')}`;
}

function asObject(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function walk(value: unknown, change: (key: string, value: unknown) => unknown, depth = 0): unknown {
  // Deeper than any field of a pod: nobody reads it.
  if (depth > 50 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => walk(element, change, depth + 1));
  const entries = Object.entries(value).map(([key, element]) => [key, walk(change(key, element), change, depth + 1)] as const);
  return Object.fromEntries(entries);
}
