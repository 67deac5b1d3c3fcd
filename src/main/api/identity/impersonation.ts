/** Builds the impersonation headers of a kubeconfig's user (upstream client-go/transport, impersonatingRoundTripper). */
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

/** Percent-encodes characters that header names do not allow. The server decodes them. */
function escapeKey(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29').toLowerCase();
}
