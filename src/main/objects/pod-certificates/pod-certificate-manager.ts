/**
 * Manages the certificates of this node's pods: generates a key and creates a request for each, watches for the signer's response, and sets a
 * timer for the renewal. Upstream checks all certificates every minute; here the watch and the timers trigger the checks.
 * certificate-state.ts decides. Upstream: IssuingManager.
 */
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { apiPath, fieldEquals, Reflector } from '../../api/index.ts';
import { KeyedWorkQueue } from '../../../shared/concurrency/keyed-work-queue.ts';
import { podReference, type EventSink } from '../../events/index.ts';
import { requestPodCertificate, type Requester } from './request-certificate.ts';
import { cleanCertificateChain } from './certificate-chain.ts';
import { requestsApi, type PodCertificateRequest } from './certificate-request.ts';
import {
  abandonAtMs,
  afterRequestStatus,
  afterRequest,
  ageWarnings,
  needsRequest,
  nextCheckAtMs,
  type CertificateState,
} from './certificate-state.ts';
import { KeyGenerator } from './key-generator.ts';
import { StateMetrics } from './state-metrics.ts';
import { TrackedCertificates, type TrackedCertificate } from './tracked-certificates.ts';

export interface PodCertificateManagerOptions extends Omit<Requester, 'generateKey'>, Partial<Pick<Requester, 'generateKey'>> {
  readonly events: EventSink;
  /** Called when certificates of these pods were issued, denied or failed. */
  readonly onChanged: (podUIDs: ReadonlySet<string>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

/** PEM; the key is PKCS#8. */
export interface Credentials {
  readonly keyPEM: string;
  readonly chainPEM: string;
}

/** How long a sync waits for the signer, which often responds within a second. */
const issueTimeoutMs = 1000;
/** The API server may not know the pod's binding to this node yet; that usually takes milliseconds. */
const backoff = { initialMs: 100, maxMs: 60_000 };
/** The number of certificates that are requested at a time. */
const parallel = 4;
const { group, version, plural } = requestsApi;
const warningMessages = {
  CertificateOverdueForRefresh: 'PodCertificate refresh overdue',
  CertificateExpired: 'PodCertificate expired',
} as const;

export class PodCertificateManager {
  readonly #options: PodCertificateManagerOptions;
  readonly #requester: Requester;
  readonly #tracked = new TrackedCertificates();
  readonly #work: KeyedWorkQueue<TrackedCertificate>;
  readonly #count = new StateMetrics();
  /** Started with the first pod that has such a volume, because most nodes have none and the API may not be served. */
  #reflector: Reflector<PodCertificateRequest> | null = null;
  #isClosed = false;

  constructor(options: PodCertificateManagerOptions) {
    const { clock, random } = options;
    const keys = new KeyGenerator();
    this.#options = options;
    this.#requester = { generateKey: (keyType) => keys.generate(keyType), ...options };
    this.#work = new KeyedWorkQueue<TrackedCertificate>({
      work: (certificate, signal) => this.#request(certificate, signal),
      onError: (certificate, err, retryAfterMs) => {
        certificate.lastError = messageOf(err);
        this.#log(certificate, 'warn', 'A certificate could not be requested', { err: certificate.lastError, retryAfterMs });
      },
      retryAfterMs: (err) => (err instanceof KubeletError ? err.retryAfterMs : undefined),
      parallel,
      backoff,
      clock,
      random,
    });
  }

  /** Called when the pod is added. Requests its certificates, those of pods that do not run yet first. */
  trackPod(pod: Pod, { isRunning }: { readonly isRunning: boolean }): void {
    const certificates = this.#isClosed ? [] : this.#tracked.track(pod, !isRunning);
    if (certificates.length === 0) return;
    this.#reflector ??= this.#startReflector();
    this.#reconcile(certificates);
  }

  /** Called when the pod is gone: drops its certificates and keys. */
  forgetPod(podUID: string): void {
    const forgotten = this.#tracked.forget(podUID);
    for (const certificate of forgotten) {
      certificate.cancelTimer();
      this.#work.forget(certificate);
    }
    if (forgotten.length > 0) this.#countAll();
  }

  /** True when all certificates of the pod's volumes are issued. */
  areIssued(podUID: string): boolean {
    return this.#tracked.ofPod(podUID).every(({ state }) => 'issued' in state);
  }

  /** Waits at most one second for the first result. Rejects with KubeletError; the messages are upstream's. */
  async getCredentialBundle(podUID: string, volume: string, sourceIndex: number): Promise<Credentials> {
    const certificate = this.#tracked.get(podUID, volume, sourceIndex);
    if (!certificate) throw new KubeletError('NotFound', `volume ${goQuote(volume)} has no podCertificate as its source ${sourceIndex}`);
    // Certificates follow the wall clock and timers the monotonic clock: the host may have been suspended, or its clock corrected.
    this.#reconcile([certificate]);
    if (hasNoResult(certificate.state)) {
      const stopTimer = new AbortController();
      const { clock } = this.#options;
      await Promise.race([certificate.firstResult.promise, clock.sleep(issueTimeoutMs, stopTimer.signal).catch(() => {})]);
      stopTimer.abort();
    }
    const { state, lastError: problem } = certificate;
    if ('issued' in state) return { keyPEM: state.issued.keyPEM, chainPEM: state.issued.chainPEM };
    if (state.state === 'initial' || state.state === 'wait') {
      throw new KubeletError('NotIssued', `credential bundle is not issued yet${problem === null ? '' : `: ${problem}`}`);
    }
    const cause = `reason=${goQuote(state.reason)} message=${goQuote(state.message)}`;
    throw new KubeletError(conditionTypeOf(state.state), `PodCertificateRequest was permanently ${state.state}: ${cause}`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const podUID of this.#tracked.podUIDs()) this.forgetPod(podUID);
    await Promise.all([this.#work.close(), this.#reflector?.close()]);
  }

  /** Updates the states from the requests' statuses and the clock, and starts what they require. */
  #reconcile(certificates: Iterable<TrackedCertificate>): void {
    const { clock, onChanged } = this.#options;
    const nowMs = clock.now();
    const changed = new Set<string>();
    for (const certificate of certificates) {
      const previousState = certificate.state;
      certificate.state = this.#nextState(certificate);
      if (certificate.state !== previousState) this.#onStateChanged(certificate, previousState, changed);
      this.#recordAgeWarnings(certificate);
      if (needsRequest(certificate.state, nowMs) && !this.#work.isBusy(certificate)) {
        this.#work.enqueue(certificate, certificate.urgent && certificate.state.state === 'initial');
      }
      this.#setTimer(certificate);
    }
    this.#countAll();
    if (changed.size > 0) onChanged(changed);
  }

  #nextState({ state }: TrackedCertificate): CertificateState {
    // Before the first list, a missing request may exist.
    if (!('pending' in state) || !this.#reflector?.hasSynced()) return state;
    const { clock, random } = this.#options;
    const request = this.#reflector.objects.get(state.pending.uid) ?? null;
    return afterRequestStatus(state, request, { nowMs: clock.now(), random: random(), cleanChain: cleanCertificateChain });
  }

  #onStateChanged(certificate: TrackedCertificate, previousState: CertificateState, changed: Set<string>): void {
    const { pod, state } = certificate;
    const request = 'pending' in previousState ? `${pod.metadata.namespace}/${previousState.pending.name}` : '';
    this.#log(certificate, 'info', 'A certificate has changed its state', { from: previousState.state, to: state.state, request });
    if (state.state === 'initial' || ('issued' in previousState && 'issued' in state && previousState.issued === state.issued)) return;
    certificate.recordedWarnings.clear();
    certificate.firstResult.resolve();
    changed.add(pod.metadata.uid);
    if (state.state !== 'denied' && state.state !== 'failed') return;
    const verb = state.state === 'denied' ? 'was denied' : 'failed';
    this.#event(
      certificate,
      conditionTypeOf(state.state),
      `PodCertificateRequest ${request} ${verb}, reason=${goQuote(state.reason)}, message=${goQuote(state.message)}`,
    );
  }

  #recordAgeWarnings(certificate: TrackedCertificate): void {
    for (const reason of ageWarnings(certificate.state, this.#options.clock.now())) {
      if (certificate.recordedWarnings.has(reason)) continue;
      certificate.recordedWarnings.add(reason);
      this.#event(certificate, reason, warningMessages[reason]);
    }
  }

  #setTimer(certificate: TrackedCertificate): void {
    const { clock } = this.#options;
    certificate.cancelTimer();
    const nowMs = clock.now();
    const atMs = nextCheckAtMs(certificate.state, nowMs);
    certificate.cancelTimer = atMs === undefined ? () => {} : clock.after(atMs - nowMs, () => this.#reconcile([certificate]));
  }

  async #request(certificate: TrackedCertificate, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    if (!this.#tracked.has(certificate) || !needsRequest(certificate.state, clock.now())) return;
    const created = await requestPodCertificate(this.#requester, certificate.pod, certificate.source, signal);
    if (!this.#tracked.has(certificate)) return;
    certificate.lastError = null;
    certificate.state = afterRequest(certificate.state, { ...created, abandonAtMs: abandonAtMs(clock.now(), random()) });
    const request = `${certificate.pod.metadata.namespace}/${created.name}`;
    this.#log(certificate, 'info', 'A certificate was requested', { request });
    this.#reconcile([certificate]);
  }

  #startReflector(): Reflector<PodCertificateRequest> {
    const { client, nodeName, clock, logger } = this.#options;
    return Reflector.start<PodCertificateRequest>({
      client,
      path: apiPath('apis', group, version, plural),
      fieldSelector: fieldEquals('spec.nodeName', nodeName),
      trafficClass: 'objects',
      apiVersion: `${group}/${version}`,
      kind: 'PodCertificateRequest',
      handler: {
        onReplace: () => this.#reconcile(this.#tracked.all()),
        onChange: (changes) => {
          const uids = new Set(changes.map(({ object }) => object.spec?.podUID ?? ''));
          this.#reconcile([...uids].flatMap((uid) => this.#tracked.ofPod(uid)));
        },
      },
      clock,
      logger,
    });
  }

  #countAll(): void {
    const all = this.#tracked.all().map(({ source, state }) => ({ signerName: source.signerName, state }));
    this.#count.set(all, this.#options.clock.now());
  }

  #event({ pod }: TrackedCertificate, reason: string, message: string): void {
    this.#options.events.record({ object: podReference(pod), type: 'Warning', reason, message });
  }

  #log({ pod, volume, sourceIndex }: TrackedCertificate, level: 'info' | 'warn', message: string, fields: object): void {
    const { namespace, name, uid } = pod.metadata;
    this.#options.logger[level]({ pod: `${namespace}/${name}`, podUID: uid, volume, sourceIndex, ...fields }, message);
  }
}

function hasNoResult({ state }: CertificateState): boolean {
  return state === 'initial' || state === 'wait';
}

/** The type of the request's condition. */
function conditionTypeOf(state: 'denied' | 'failed'): 'Denied' | 'Failed' {
  return state === 'denied' ? 'Denied' : 'Failed';
}
