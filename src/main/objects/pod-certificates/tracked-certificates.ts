/** Every certificate of every pod that runs here, and what is known of it: one for each podCertificate source of the pod's volumes. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodCertificateSource } from './certificate-request.ts';
import type { CertificateState } from './certificate-state.ts';

export interface TrackedCertificate {
  readonly volume: string;
  readonly sourceIndex: number;
  readonly source: PodCertificateSource;
  /** A pod waits for it that has not started yet. */
  readonly urgent: boolean;
  /** Its newest version. */
  pod: Pod;
  state: CertificateState;
  /** Why the signer could not be asked the last time. */
  lastError: string | null;
  /** Reasons of events that were recorded about what is issued now. */
  readonly recordedWarnings: Set<string>;
  /** Resolved with its first answer. */
  readonly answered: PromiseWithResolvers<void>;
  cancelTimer: () => void;
}

export class TrackedCertificates {
  /** By pod, then by volume and source. */
  readonly #pods = new Map<string, Map<string, TrackedCertificate>>();

  /** Those of the pod; new ones are `initial`. What a pod's volumes are never changes. */
  track(pod: Pod, urgent: boolean): TrackedCertificate[] {
    const { uid } = pod.metadata;
    const tracked = this.#pods.get(uid) ?? new Map<string, TrackedCertificate>();
    for (const place of certificateSources(pod)) {
      const slot = slotOf(place.volume, place.sourceIndex);
      const known = tracked.get(slot);
      if (known) known.pod = pod;
      else tracked.set(slot, newCertificate(pod, place, urgent));
    }
    if (tracked.size > 0) this.#pods.set(uid, tracked);
    return [...tracked.values()];
  }

  /** Those that the pod had. */
  forget(podUID: string): TrackedCertificate[] {
    const forgotten = this.ofPod(podUID);
    this.#pods.delete(podUID);
    return forgotten;
  }

  get(podUID: string, volume: string, sourceIndex: number): TrackedCertificate | undefined {
    return this.#pods.get(podUID)?.get(slotOf(volume, sourceIndex));
  }

  /** Its pod was not forgotten since. */
  has(certificate: TrackedCertificate): boolean {
    return this.get(certificate.pod.metadata.uid, certificate.volume, certificate.sourceIndex) === certificate;
  }

  podUIDs(): string[] {
    return [...this.#pods.keys()];
  }

  ofPod(podUID: string): TrackedCertificate[] {
    return [...(this.#pods.get(podUID)?.values() ?? [])];
  }

  all(): TrackedCertificate[] {
    return this.podUIDs().flatMap((uid) => this.ofPod(uid));
  }
}

type Place = Pick<TrackedCertificate, 'volume' | 'sourceIndex' | 'source'>;

function certificateSources({ spec }: Pod): Place[] {
  return (spec.volumes ?? []).flatMap(({ name: volume, projected }) =>
    (projected?.sources ?? []).flatMap(({ podCertificate: source }, sourceIndex) => (source ? [{ volume, sourceIndex, source }] : [])),
  );
}

function newCertificate(pod: Pod, place: Place, urgent: boolean): TrackedCertificate {
  const answered = Promise.withResolvers<void>();
  return {
    ...place,
    pod,
    urgent,
    state: { state: 'initial' },
    lastError: null,
    recordedWarnings: new Set(),
    answered,
    cancelTimer: () => {},
  };
}

function slotOf(volume: string, sourceIndex: number): string {
  return `${volume}/${sourceIndex}`;
}
