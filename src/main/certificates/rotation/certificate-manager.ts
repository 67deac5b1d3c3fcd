/**
 * Keeps one certificate of the node valid: requests the first one, and the next one before the current one ends (upstream:
 * client-go/util/certificate, manager).
 *
 *   none ──issued──▶ current ──70 to 90 % of the lifetime, or other names wanted──▶ requested ──issued──▶ current
 *
 *  - A failed request is repeated until it succeeds. The current certificate stays in use meanwhile, also after it has expired: the API
 *    server decides by its own clock.
 *  - An issued certificate is used even if it can't be stored. Storing is then repeated.
 */
import type { KeyObject } from 'node:crypto';
import { contain } from '../../../shared/faults/contain.ts';
import { Wakeup } from '../../../shared/concurrency/wakeup.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import { ApiError, type ApiClient } from '../../api/index.ts';
import type { CertificatePair } from '../certificate-pair.ts';
import { generateKey } from '../request/generate-key.ts';
import { requestNodeCertificate, RefusedError } from '../request/request-certificate.ts';
import { equalTemplates, missingFromCertificate, type CertificatePurpose } from '../request/request-template.ts';
import type { CertificateStore } from '../store/certificate-store.ts';
import type { PendingKey } from '../store/pending-key.ts';
import { rotationRetryDelayMs, rotationDelayMs } from './rotation-schedule.ts';

/** The client that requests a certificate. */
export interface RequestAccess {
  readonly client: ApiClient;
  /** Whose credentials the client has, for the log. */
  readonly credentials: string;
  /** Null: each request has a new key and a new name. */
  readonly pendingKey: PendingKey | null;
  readonly close: () => Promise<void>;
}

export interface CertificateManagerOptions {
  readonly purpose: CertificatePurpose;
  /** Null: the names are not known yet. */
  readonly template: () => RequestTemplate | null;
  readonly store: Pick<CertificateStore, 'save' | 'currentPath'>;
  /** The certificate at the start. */
  readonly initial: CertificatePair | null;
  /** The first request is made at once, also with a valid certificate. */
  readonly mustRotate?: boolean;
  /** False: the manager ends with the first certificate. */
  readonly rotates: boolean;
  /** Reads the stored certificate, which somebody may have replaced. Called without a valid certificate. */
  readonly reload?: () => Promise<CertificatePair | null>;
  /** Called for each request. `current` is null when there is no certificate that the API server would accept. */
  readonly openAccess: (current: CertificatePair | null) => Promise<RequestAccess>;
  /** Called with each certificate, before it is stored. */
  readonly onIssued: (pair: CertificatePair) => void;
  /** Called when a certificate is stored. */
  readonly onStored?: () => void;
  readonly metrics: {
    readonly failed: () => void;
    /** Called with the age of the replaced certificate. */
    readonly replaced: (seconds: number) => void;
    readonly notAfterMs: (ms: number) => void;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

/** How often a certificate that the API server refuses is renewed. Each renewal leaves a request there. */
const refusedPeriodMs = 5 * 60_000;
/** The wait for a renewal of months is divided, because the wall clock may be set and the host may be suspended. */
const maxSleepMs = 10 * 60_000;
const storeRetry = { initialMs: 2_000, maxMs: 5 * 60_000 };

export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #random: () => number;
  readonly #wakeup: Wakeup;
  readonly #stop = new AbortController();
  #current: CertificatePair | null;
  /** The renewal is due when either clock reaches its time. */
  #due: { readonly monotonicMs: number; readonly wallMs: number } | null = null;
  /** The request in flight. */
  #attempt: { readonly template: RequestTemplate; readonly controller: AbortController } | null = null;
  /** The certificate with which a request got 401: other credentials request the next one. */
  #refused: CertificatePair | null = null;
  /** The last attempt used other credentials than the current certificate. */
  #triedOthers = false;
  /** Whose credentials the last request used, for the log. */
  #credentials = '';
  /** Monotonic ms of the last renewal because of a 401. */
  #renewedAtMs = -Infinity;
  #failures = 0;
  #running: Promise<unknown> = Promise.resolve();
  #storing: Promise<unknown> = Promise.resolve();

  private constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#wakeup = new Wakeup(options.clock);
    this.#current = options.initial;
    if (options.initial) options.metrics.notAfterMs(options.initial.notAfterMs);
    if (options.initial && !options.mustRotate) this.#schedule(options.initial, false);
  }

  static start(options: CertificateManagerOptions): CertificateManager {
    const manager = new CertificateManager(options);
    manager.#running = manager.#run(manager.#stop.signal);
    return manager;
  }

  get current(): CertificatePair | null {
    return this.#current;
  }

  /** Called when the template may have changed. Ends the wait for a certificate with names that are not wanted any more. */
  templateChanged(): void {
    const attempt = this.#attempt;
    const template = this.#options.template();
    if (attempt && !equalTemplates(attempt.template, template) && this.#missing(template) !== null) attempt.controller.abort();
    this.#wakeup.wake();
  }

  /** Called when the API server answers 401: its authorities may have changed, or the clock of this host is wrong. Renews the certificate. */
  renewRefused(): void {
    const { clock } = this.#options;
    if (clock.monotonic() < this.#renewedAtMs + refusedPeriodMs) return;
    this.#renewedAtMs = clock.monotonic();
    this.#due = null;
    this.#wakeup.wake();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#running, this.#storing]);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { logger, metrics, rotates } = this.#options;
    while (!signal.aborted) {
      const delayMs = contain({ handler: 'certificate rotation', logger }, () => this.#delayMs()) ?? maxSleepMs;
      if (delayMs > 0) {
        await this.#wakeup.next(Math.min(delayMs, maxSleepMs), signal);
        continue;
      }
      const template = this.#options.template()!;
      this.#attempt = { template, controller: new AbortController() };
      const attempt = AbortSignal.any([signal, this.#attempt.controller.signal]);
      try {
        await this.#rotate(template, attempt);
        this.#failures = 0;
        this.#triedOthers = false;
        if (!rotates) return;
      } catch (err) {
        if (signal.aborted) return;
        if (attempt.aborted) {
          logger.info('Other names are wanted for the certificate, requesting it again');
          continue;
        }
        this.#failures += 1;
        metrics.failed();
        const delay = rotationRetryDelayMs(this.#failures, err instanceof RefusedError, this.#random);
        logger.error(
          { err: messageOf(err), credentials: this.#credentials, failures: this.#failures, retryMs: Math.round(delay) },
          'Failed to get a certificate from the cluster',
        );
        await this.#wakeup.next(delay, signal);
      } finally {
        this.#attempt = null;
      }
    }
  }

  /** The time until a request is due. Infinite while the names are not known. */
  #delayMs(): number {
    const { template, clock } = this.#options;
    const wanted = template();
    if (wanted === null) return Infinity;
    if (this.#due === null || this.#missing(wanted) !== null) return 0;
    return Math.min(this.#due.monotonicMs - clock.monotonic(), this.#due.wallMs - clock.now());
  }

  #missing(template: RequestTemplate | null): string | null {
    if (template === null) return null;
    return this.#current ? missingFromCertificate(this.#current, template) : 'everything';
  }

  async #rotate(template: RequestTemplate, signal: AbortSignal): Promise<void> {
    const { purpose, openAccess, clock, logger } = this.#options;
    logger.info({ purpose }, 'Requesting a certificate');
    const current = this.#current;
    const isValid = current !== null && current !== this.#refused && clock.now() < current.notAfterMs;
    if (!isValid && (await this.#adoptStored(template))) return;
    // A certificate that seems invalid is used for every other attempt: this host's clock may be wrong, and the other credentials may have expired.
    const usesCurrent = isValid || (current !== null && this.#triedOthers);
    this.#triedOthers = !usesCurrent;
    this.#credentials = '';
    const { client, credentials, pendingKey, close } = await openAccess(usesCurrent ? current : null);
    this.#credentials = credentials;
    try {
      const key: KeyObject = pendingKey ? await pendingKey.loadOrGenerate() : await generateKey();
      const pair = await requestNodeCertificate(
        { purpose, template, key, isResumable: pendingKey !== null },
        { client, clock, logger },
        signal,
      );
      this.#adopt(pair, pendingKey);
      const missing = missingFromCertificate(pair, template);
      // Upstream requests the next one a second later, without end.
      if (missing !== null) throw new RefusedError(`the issued certificate, which is in use, lacks ${missing}`);
    } catch (err) {
      // The next request must have another name.
      if (err instanceof RefusedError) await pendingKey?.discard();
      if (usesCurrent && err instanceof ApiError && err.code === 401) this.#refused = current;
      throw err;
    } finally {
      await close();
    }
  }

  async #adoptStored(template: RequestTemplate): Promise<boolean> {
    const { reload, clock } = this.#options;
    const stored = (await reload?.().catch(() => null)) ?? null;
    if (!stored || stored.cert === this.#current?.cert || stored.notAfterMs <= clock.now()) return false;
    if (missingFromCertificate(stored, template) !== null) return false;
    this.#use(stored, false);
    return true;
  }

  #adopt(pair: CertificatePair, pendingKey: PendingKey | null): void {
    this.#use(pair, true);
    this.#storing = this.#storing.then(() => this.#store(pair, pendingKey));
  }

  #use(pair: CertificatePair, isNew: boolean): void {
    const { metrics, clock, logger, onIssued } = this.#options;
    const previous = this.#current;
    const nowMs = clock.now();
    if (previous) metrics.replaced((nowMs - previous.notBeforeMs) / 1000);
    metrics.notAfterMs(pair.notAfterMs);
    this.#current = pair;
    const delayMs = this.#schedule(pair, isNew);
    if (nowMs < pair.notBeforeMs || nowMs >= pair.notAfterMs) {
      logger.warn(validityOf(pair), 'A certificate that was just issued is not valid by the clock of this host: the clock is wrong');
    }
    logger.info({ ...validityOf(pair), renewalInSeconds: Math.round(delayMs / 1000) }, 'Using a new certificate');
    onIssued(pair);
  }

  /** Repeats until it succeeds, or until there is a newer certificate. */
  async #store(pair: CertificatePair, pendingKey: PendingKey | null): Promise<void> {
    const { store, clock, logger, metrics, onStored } = this.#options;
    const { signal } = this.#stop;
    let delayMs: number | undefined;
    while (this.#current === pair) {
      try {
        await store.save(pair, new Date(clock.now()));
        await pendingKey?.discard();
        onStored?.();
        return;
      } catch (err) {
        if (delayMs === undefined) metrics.failed();
        delayMs = nextBackoffMs(delayMs, storeRetry);
        logger.error(
          { err: messageOf(err), path: store.currentPath, retryMs: delayMs },
          'Unable to store the new cert/key pair; it is in use, and lost with a restart',
        );
        if (signal.aborted) return;
        await clock.sleep(delayMs, signal).catch(() => {});
      }
    }
  }

  #schedule(pair: CertificatePair, isNew: boolean): number {
    const { clock, logger } = this.#options;
    const delayMs = rotationDelayMs(pair, clock.now(), this.#random(), isNew);
    this.#due = { monotonicMs: clock.monotonic() + delayMs, wallMs: clock.now() + delayMs };
    logger.debug({ ...validityOf(pair), delayMs }, 'Certificate rotation deadline determined');
    return delayMs;
  }
}

function validityOf({ notBeforeMs, notAfterMs }: CertificatePair): object {
  return { notBefore: new Date(notBeforeMs).toISOString(), expiration: new Date(notAfterMs).toISOString() };
}
