/** Computes when a certificate is renewed, and when a failed renewal is tried again. Pure. */
import { nextBackoffMs, withJitter, type BackoffLimits } from '../../../shared/time/backoff.ts';

export interface Validity {
  /** Wall-clock ms. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate is renewed after 70 to 90 % of its lifetime (upstream: jitteryDuration), so that nodes that joined together do not renew together. */
const earliestShare = 0.7;
const jitterShare = 0.2;
/** Bounds the requests when a signer's certificates live for a moment only. */
const minDelayMs = 5_000;

/**
 * The delay until the renewal of a certificate.
 *
 * A certificate that was just issued is never due: it is short-lived (signers date certificates back, by five minutes in the controller
 * manager), or this host's clock is wrong. It is then renewed after a share of the time that it lives for the API server.
 * @param random in [0, 1)
 */
export function rotationDelayMs({ notBeforeMs, notAfterMs }: Validity, nowMs: number, random: number, isNew: boolean): number {
  const totalMs = notAfterMs - notBeforeMs;
  const share = earliestShare + jitterShare * random;
  const delayMs = notBeforeMs + totalMs * share - nowMs;
  if (!isNew) return Math.max(delayMs, 0);
  const remainingMs = notAfterMs - nowMs;
  // When this host's clock is behind, `delayMs` is too long.
  if (delayMs > 0) return Math.max(Math.min(delayMs, totalMs * share), minDelayMs);
  return Math.max((remainingMs > 0 ? remainingMs : totalMs) * share, minDelayMs);
}

/** Upstream: five steps from 2 s on, then every 32 s. */
const failureLimits: BackoffLimits = { initialMs: 2_000, maxMs: 32_000 };
/** A signer that refuses will refuse again until somebody changes its rules, and each try leaves a request in the API server. */
const refusalLimits: BackoffLimits = { initialMs: 2_000, maxMs: 10 * 60_000 };
const retryJitter = 0.1;

/** @param failures how many times in a row the renewal has failed, at least 1 */
export function rotationRetryDelayMs(failures: number, isRefused: boolean, random: () => number): number {
  const limits = isRefused ? refusalLimits : failureLimits;
  let delayMs: number | undefined;
  // 20 doublings exceed both maximums.
  for (let failure = 0; failure < Math.min(failures, 20); failure += 1) delayMs = nextBackoffMs(delayMs, limits);
  return withJitter(delayMs ?? limits.initialMs, retryJitter, random);
}
