/** The certificates of all pods on this node: one for each podCertificate source of the pods' volumes. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodCertificateSource } from './certificate-request.ts';
import type { CertificateState } from './certificate-state.ts';

export interface TrackedCertificate {
  readonly volume: string;
  readonly sourceIndex: number;
  readonly source: PodCertificateSource;
  /** The pod has not started yet and waits for the certificate. */
  readonly urgent: boolean;
  /** The newest version of the pod. */
  pod: Pod;
  state: CertificateState;
  /** The error of the last attempt to create a request. */
  lastError: string | null;
  /** Reasons of the events that were recorded about the current certificate. */
  readonly recordedWarnings: Set<string>;
  /** Resolved when the certificate is first issued, denied or failed. */
  readonly firstResult: PromiseWithResolvers<void>;
  cancelTimer: () => void;
}

export class TrackedCertificates {
  /** By pod UID, then by volume and source index. */
  readonly #pods = new Map<string, Map<string, TrackedCertificate>>();

  /** Returns the pod's certificates; new ones are `initial`. A pod's volumes never change. */
  track(pod: Pod, urgent: boolean): TrackedCertificate[] {
    const { uid } = pod.metadata;
    const tracked = this.#pods.get(uid) ?? new Map<string, TrackedCertificate>();
    for (const projection of certificateProjections(pod)) {
      const key = keyOf(projection.volume, projection.sourceIndex);
      const existing = tracked.get(key);
      if (existing) existing.pod = pod;
      else tracked.set(key, newCertificate(pod, projection, urgent));
    }
    if (tracked.size > 0) this.#pods.set(uid, tracked);
    return [...tracked.values()];
  }

  /** Returns the pod's certificates. */
  forget(podUID: string): TrackedCertificate[] {
    const forgotten = this.ofPod(podUID);
    this.#pods.delete(podUID);
    return forgotten;
  }

  get(podUID: string, volume: string, sourceIndex: number): TrackedCertificate | undefined {
    return this.#pods.get(podUID)?.get(keyOf(volume, sourceIndex));
  }

  /** False after the pod was forgotten. */
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

/** One podCertificate source of a pod's projected volumes. */
type CertificateProjection = Pick<TrackedCertificate, 'volume' | 'sourceIndex' | 'source'>;

function certificateProjections({ spec }: Pod): CertificateProjection[] {
  return (spec.volumes ?? []).flatMap(({ name: volume, projected }) =>
    (projected?.sources ?? []).flatMap(({ podCertificate: source }, sourceIndex) => (source ? [{ volume, sourceIndex, source }] : [])),
  );
}

function newCertificate(pod: Pod, projection: CertificateProjection, urgent: boolean): TrackedCertificate {
  const firstResult = Promise.withResolvers<void>();
  return {
    ...projection,
    pod,
    urgent,
    state: { state: 'initial' },
    lastError: null,
    recordedWarnings: new Set(),
    firstResult,
    cancelTimer: () => {},
  };
}

function keyOf(volume: string, sourceIndex: number): string {
  return `${volume}/${sourceIndex}`;
}
