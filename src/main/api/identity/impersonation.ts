/** The headers by which a user who may do so acts as another (upstream client-go/transport, impersonatingRoundTripper). */
import type { Impersonation } from '../kubeconfig/kubeconfig.ts';

export function impersonationHeaders(impersonation: Impersonation | null): [name: string, value: string][] {
  if (!impersonation) return [];
  const { user, uid, groups, extra } = impersonation;
  return [
    ['impersonate-user', user],
    ...(uid === '' ? [] : [['impersonate-uid', uid] as [string, string]]),
    ...groups.map((group): [string, string] => ['impersonate-group', group]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value): [string, string] => [`impersonate-extra-${escapeKey(key)}`, value]),
    ),
  ];
}

/** Header names have few characters; the server undoes the percent signs. */
function escapeKey(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29').toLowerCase();
}
