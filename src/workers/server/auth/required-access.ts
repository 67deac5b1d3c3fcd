/**
 * Computes the access to the Node object that a request needs: a verb from the method, and subresources from the path, in the order in
 * which they are checked. `/pods` needs nodes/pods or the older nodes/proxy. Pure. Upstream: pkg/kubelet/server/auth.go
 * (KubeletFineGrainedAuthz, always on since v1.36).
 */
const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Checked before the coarse subresource. */
const fineGrainedAccess: readonly (readonly [prefix: string, subresource: string])[] = [
  ['/allocatedPods', 'pods'],
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
];
/** Checked instead of `proxy`. */
const coarseAccess: readonly (readonly [prefix: string, subresource: string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

export interface RequiredAccess {
  /** Empty for methods that are not in `verbs`; only an RBAC rule for `*` allows these. */
  readonly verb: string;
  readonly subresources: readonly string[];
}

/** @param path decoded and clean */
export function computeRequiredAccess(method: string, path: string): RequiredAccess {
  const find = (table: typeof coarseAccess) => table.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
  const fineGrainedSubresource = find(fineGrainedAccess);
  const coarseSubresource = find(coarseAccess) ?? 'proxy';
  return {
    verb: verbs[method] ?? '',
    subresources: fineGrainedSubresource === undefined ? [coarseSubresource] : [fineGrainedSubresource, coarseSubresource],
  };
}
