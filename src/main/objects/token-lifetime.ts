/** Computes when a token is renewed: at 80 % of its lifetime or at the age of one day (upstream requiresRefresh in pkg/kubelet/token). Pure. */

const maxAgeMs = 24 * 60 * 60 * 1000;
/** Renews up to 10 s sooner, in whole seconds, so that tokens that were issued in the same minute are not renewed at the same time. */
const maxJitterSeconds = 10;

/**
 * Returns wall-clock ms.
 * @param random in [0, 1)
 */
export function renewAtMs(token: { readonly expiresAtMs: number; readonly expirationSeconds: number }, random: number): number {
  const { expiresAtMs, expirationSeconds } = token;
  const jitterMs = Math.floor(random * maxJitterSeconds) * 1000;
  const issuedAtMs = expiresAtMs - expirationSeconds * 1000;
  const fifthMs = Math.floor((expirationSeconds * 20) / 100) * 1000;
  return Math.min(issuedAtMs + maxAgeMs, expiresAtMs - fifthMs) - jitterMs;
}
