/** The user of a request and the result of authentication. Upstream: k8s.io/apiserver/pkg/authentication. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * `none`: the request has no credentials of this kind. `error`: its credentials are invalid, so the request is not treated as anonymous. `busy`: too many
 * credentials are being reviewed.
 */
export type AuthenticationResult =
  | { readonly type: 'user'; readonly user: User }
  | { readonly type: 'none' }
  | { readonly type: 'busy' }
  | { readonly type: 'error'; readonly message: string };

export const noCredentials: AuthenticationResult = { type: 'none' };

const authenticated = 'system:authenticated';
const unauthenticated = 'system:unauthenticated';
const anonymousName = 'system:anonymous';

export const anonymous: User = { name: anonymousName, uid: '', groups: [unauthenticated], extra: {} };

/** Adds the group `system:authenticated`, unless the user is anonymous. */
export function withAuthenticatedGroup(user: User): User {
  const { name, groups } = user;
  if (name === anonymousName || groups.includes(authenticated) || groups.includes(unauthenticated)) return user;
  return { ...user, groups: [...groups, authenticated] };
}
