/**
 * A token that is on disk from before the kubelet started: kept when it is the one that would be asked for, so that a start on a node with a
 * hundred pods costs no hundred tokens. Pure.
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
 * When it expires, as wall-clock ms: by what was asked for, the server may have given it longer. Undefined: it is not for this service
 * account, this pod and this audience. The signature is the server's to check: what is on disk only goes back to where it came from.
 */
export function reusableTokenExpiryMs(token: string, ref: TokenRef): number | undefined {
  const claims = claimsOf(token);
  if (!claims) return undefined;
  const { sub, aud, iat, exp } = claims;
  const isOurs =
    sub === `system:serviceaccount:${ref.namespace}:${ref.serviceAccountName}` && claims['kubernetes.io']?.pod?.uid === ref.podUID;
  // Which audience is the server's own is not known here.
  const isAudience = ref.audience === '' || (Array.isArray(aud) ? aud.length === 1 && aud[0] === ref.audience : aud === ref.audience);
  if (!isOurs || !isAudience || typeof iat !== 'number' || typeof exp !== 'number') return undefined;
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
