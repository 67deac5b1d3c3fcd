/** Who asks, and what authentication can say of a request. Upstream: k8s.io/apiserver/pkg/authentication. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * `none`: it has no credentials of this kind. `error`: it has, and they are no good; that is no guest any more. `busy`: it has some, and
 * there are too many to judge.
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

/** Whoever was recognized is in the group of those who were. */
export function withAuthenticatedGroup(user: User): User {
  const { name, groups } = user;
  if (name === anonymousName || groups.includes(authenticated) || groups.includes(unauthenticated)) return user;
  return { ...user, groups: [...groups, authenticated] };
}
