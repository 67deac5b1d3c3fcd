/** When a token is to be renewed: at 80 % of its life, or when it is a day old (upstream requiresRefresh in pkg/kubelet/token). Pure. */

const maxAgeMs = 24 * 60 * 60 * 1000;
/** Up to 10 s sooner, in whole seconds, so that tokens of one minute are not renewed in one moment. */
const maxJitterSeconds = 10;

/**
 * Wall-clock ms.
 * @param random in [0, 1)
 */
export function renewAtMs(token: { readonly expiresAtMs: number; readonly expirationSeconds: number }, random: number): number {
  const { expiresAtMs, expirationSeconds } = token;
  const jitterMs = Math.floor(random * maxJitterSeconds) * 1000;
  const issuedAtMs = expiresAtMs - expirationSeconds * 1000;
  const fifthMs = Math.floor((expirationSeconds * 20) / 100) * 1000;
  return Math.min(issuedAtMs + maxAgeMs, expiresAtMs - fifthMs) - jitterMs;
}
