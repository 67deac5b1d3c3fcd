/**
 * Decides whether a token that an earlier kubelet wrote to disk can be reused, so that a restart on a node with a hundred pods does not request a
 * hundred tokens. Pure.
 */
import type { TokenRef } from '../../shared/contracts/pod-objects.ts';

interface Claims {
  readonly sub?: unknown;
  readonly aud?: unknown;
  readonly iat?: unknown;
  readonly exp?: unknown;
  readonly 'kubernetes.io'?: { readonly pod?: { readonly uid?: unknown } };
}

/**
 * Returns the wall-clock ms at which the token expires by the requested lifetime, even if the server granted a longer one. Undefined when the
 * token is for another service account, pod or audience. The signature is not verified: the token only returns to the volume that it was read
 * from.
 */
export function reusableTokenExpiryMs(token: string, ref: TokenRef): number | undefined {
  const claims = claimsOf(token);
  if (!claims) return undefined;
  const { sub, aud, iat, exp } = claims;
  const isForPod =
    sub === `system:serviceaccount:${ref.namespace}:${ref.serviceAccountName}` && claims['kubernetes.io']?.pod?.uid === ref.podUID;
  // The API server's default audience is unknown here.
  const isAudience = ref.audience === '' || (Array.isArray(aud) ? aud.length === 1 && aud[0] === ref.audience : aud === ref.audience);
  if (!isForPod || !isAudience || typeof iat !== 'number' || typeof exp !== 'number') return undefined;
  return Math.min(exp, iat + ref.expirationSeconds) * 1000;
}

function claimsOf(token: string): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}
