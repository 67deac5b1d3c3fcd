/**
 * Which access to the node a request needs: a verb by its method, and subresources by its path, in the order in which they are tried.
 * `/pods` needs nodes/pods, or, as before there was such a thing, nodes/proxy. Upstream: pkg/kubelet/server/auth.go (KubeletFineGrainedAuthz,
 * always on since v1.36). Pure.
 */
const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Finer than proxy, and tried before it. */
const fineGrained: readonly (readonly [prefix: string, subresource: string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
];
/** In place of proxy. */
const own: readonly (readonly [prefix: string, subresource: string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

export interface RequiredAccess {
  /** Empty for methods that have none: a rule for `*` allows them. */
  readonly verb: string;
  readonly subresources: readonly string[];
}

/** @param path decoded and clean */
export function computeRequiredAccess(method: string, path: string): RequiredAccess {
  const find = (table: typeof own) => table.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
  const finer = find(fineGrained);
  const coarse = find(own) ?? 'proxy';
  return { verb: verbs[method] ?? '', subresources: finer === undefined ? [coarse] : [finer, coarse] };
}
