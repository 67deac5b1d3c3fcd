/**
 * The state machine of one certificate of a pod (upstream projectionRecord in pkg/kubelet/podcertificate). Pure.
 *
 *   initial ──requested──▶ wait ──issued──▶ fresh ──requested──▶ waitRefresh
 *      ▲                   │  │               ▲                    │  │
 *      └──request is gone──┘  │               └──issued, or gone───┘  │
 *                             └───────▶ denied, failed ◀──────────────┘
 *
 *  - `denied` and `failed` are final: the pod must be recreated.
 *  - An issued certificate is used until the next one is issued, even after it has expired.
 *  - The state is not persisted: after a restart every certificate is requested again.
 */
import type { PodCertificateRequest } from './certificate-request.ts';

export type CertificateState =
  | { readonly state: 'initial' }
  | { readonly state: 'wait'; readonly pending: Pending }
  | { readonly state: 'fresh'; readonly issued: Issued }
  | { readonly state: 'waitRefresh'; readonly issued: Issued; readonly pending: Pending }
  | { readonly state: 'denied' | 'failed'; readonly reason: string; readonly message: string };

/** A request that waits for the signer. Times are wall-clock ms. */
export interface Pending {
  readonly uid: string;
  readonly name: string;
  readonly keyPEM: string;
  /** A request that is missing after this time was deleted. Before, the watch may not have delivered it yet. */
  readonly abandonAtMs: number;
}

export interface Issued {
  readonly keyPEM: string;
  readonly chainPEM: string;
  readonly beginRefreshAtMs: number;
  readonly notAfterMs: number;
}

/** Values of the label `state` of kubelet_podcertificate_states. */
export type StateLabel = 'not_yet_issued' | 'denied' | 'failed' | 'fresh' | 'overdue_for_refresh' | 'expired';
/** Event reasons for a certificate that is not renewed in time. */
export type AgeWarning = 'CertificateOverdueForRefresh' | 'CertificateExpired';

/** These three numbers are upstream's assumeDeletedThreshold, refreshOverdueDuration and jitterDuration. */
const assumeDeletedMs = 10 * 60_000;
const refreshOverdueMs = 10 * 60_000;
const jitterMs = 5 * 60_000;
/** If the node's clock is ahead, every new certificate is due at once: this delay prevents a request loop. */
const minRefreshDelayMs = 60_000;

/** @param random in [0, 1) */
export function abandonAtMs(requestedAtMs: number, random: number): number {
  return requestedAtMs + assumeDeletedMs + jitterMs * random;
}

/** True when a request is due: the first one, or a renewal. */
export function needsRequest(state: CertificateState, nowMs: number): boolean {
  return state.state === 'initial' || (state.state === 'fresh' && nowMs >= state.issued.beginRefreshAtMs);
}

export function afterRequest(state: CertificateState, pending: Pending): CertificateState {
  if (state.state === 'initial') return { state: 'wait', pending };
  return state.state === 'fresh' ? { state: 'waitRefresh', issued: state.issued, pending } : state;
}

/** Returns the state after the pending request's status; `request` is null when it does not exist. Returns the same object when nothing changes. */
export function afterRequestStatus(
  state: CertificateState,
  request: PodCertificateRequest | null,
  { nowMs, random, cleanChain }: { readonly nowMs: number; readonly random: number; readonly cleanChain: (pem: string) => string },
): CertificateState {
  if (state.state !== 'wait' && state.state !== 'waitRefresh') return state;
  const { pending } = state;
  if (!request) {
    if (nowMs <= pending.abandonAtMs) return state;
    return state.state === 'wait' ? { state: 'initial' } : { state: 'fresh', issued: state.issued };
  }
  const { conditions = [], certificateChain = '', beginRefreshAt = '', notAfter = '' } = request.status ?? {};
  for (const { type, reason = '', message = '' } of conditions) {
    if (type === 'Denied') return { state: 'denied', reason, message };
    if (type === 'Failed') return { state: 'failed', reason, message };
    if (type !== 'Issued') continue;
    const [beginMs, notAfterMs] = [Date.parse(beginRefreshAt), Date.parse(notAfter)];
    if (Number.isNaN(beginMs) || Number.isNaN(notAfterMs)) {
      return { state: 'failed', reason: 'Invalid', message: 'it was issued without saying from when and until when it is good' };
    }
    const beginRefreshAtMs = Math.max(beginMs + jitterMs * random, nowMs + minRefreshDelayMs * (1 + random));
    return { state: 'fresh', issued: { keyPEM: pending.keyPEM, chainPEM: cleanChain(certificateChain), beginRefreshAtMs, notAfterMs } };
  }
  return state;
}

/** Returns the next time, in wall-clock ms, at which the passage of time may change the state; undefined when there is none. */
export function nextCheckAtMs(state: CertificateState, nowMs: number): number | undefined {
  const times: number[] = [];
  if ('pending' in state) times.push(state.pending.abandonAtMs + 1);
  if ('issued' in state) times.push(state.issued.beginRefreshAtMs, overdueAtMs(state.issued) + 1, state.issued.notAfterMs + 1);
  const nextMs = Math.min(...times.filter((timeMs) => timeMs > nowMs));
  return nextMs === Infinity ? undefined : nextMs;
}

export function stateLabel(state: CertificateState, nowMs: number): StateLabel {
  if (state.state === 'denied' || state.state === 'failed') return state.state;
  if (!('issued' in state)) return 'not_yet_issued';
  if (nowMs > state.issued.notAfterMs) return 'expired';
  return nowMs > overdueAtMs(state.issued) ? 'overdue_for_refresh' : 'fresh';
}

/** The warnings that apply now. The caller records each once per certificate. */
export function ageWarnings(state: CertificateState, nowMs: number): AgeWarning[] {
  if (!('issued' in state)) return [];
  const warnings: AgeWarning[] = [];
  if (nowMs > overdueAtMs(state.issued)) warnings.push('CertificateOverdueForRefresh');
  if (nowMs > state.issued.notAfterMs) warnings.push('CertificateExpired');
  return warnings;
}

function overdueAtMs({ beginRefreshAtMs }: Issued): number {
  return beginRefreshAtMs + refreshOverdueMs;
}
