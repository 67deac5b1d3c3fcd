/** Maintains the gauge of pods' certificates by signer and state (upstream PodCertificateCollectorFor). */
import { podCertificateStates } from '../../../shared/metrics/definitions/volumes.ts';
import { stateLabel, type CertificateState, type StateLabel } from './certificate-state.ts';

interface Counted {
  readonly labels: { readonly signer_name: string; readonly state: StateLabel };
  count: number;
}

export class StateMetrics {
  #shown = new Map<string, Counted>();

  /** Sets the counts of all certificates, and removes the series of combinations that no longer occur. */
  set(certificates: readonly { readonly signerName: string; readonly state: CertificateState }[], nowMs: number): void {
    const counts = new Map<string, Counted>();
    for (const certificate of certificates) {
      const state = stateLabel(certificate.state, nowMs);
      const key = `${state} ${certificate.signerName}`;
      const counted = counts.get(key) ?? { labels: { signer_name: certificate.signerName, state }, count: 0 };
      counted.count += 1;
      counts.set(key, counted);
    }
    for (const { labels, count } of counts.values()) podCertificateStates.set(count, labels);
    for (const [key, { labels }] of this.#shown) if (!counts.has(key)) podCertificateStates.remove(labels);
    this.#shown = counts;
  }
}
