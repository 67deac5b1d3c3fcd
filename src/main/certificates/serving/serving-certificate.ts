/**
 * The certificate of the kubelet's server from the cluster (`serverTLSBootstrap`; upstream: NewKubeletServerCertificateManager). Its names are the
 * addresses of the Node: it is requested when they are known, when they change, and before the certificate ends.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { NodeAddress } from '../../../shared/kubernetes/api.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { servingCertificateExpiry, servingRenewErrors, servingRotationAge } from '../../../shared/metrics/definitions/certificates.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import type { ApiClient } from '../../api/index.ts';
import type { CertificatePair } from '../certificate-pair.ts';
import { equalTemplates } from '../request/request-template.ts';
import { CertificateManager } from '../rotation/certificate-manager.ts';
import { CertificateStore } from '../store/certificate-store.ts';
import { servingTemplate } from './serving-names.ts';

export interface ServingCertificateOptions {
  readonly nodeName: string;
  readonly certDirectory: string;
  /** tlsCertFile and tlsPrivateKeyFile, which serve until the first certificate is issued. */
  readonly files: { readonly cert: string; readonly key: string } | null;
  /** The gate AllowDNSOnlyNodeCSR. */
  readonly allowsDNSOnly: boolean;
  /** Makes the server use the certificate for the next handshake. */
  readonly serve: (pair: CertificatePair) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ServingCertificate {
  readonly #options: ServingCertificateOptions;
  readonly #store: CertificateStore;
  readonly #initial: CertificatePair | null;
  #template: RequestTemplate | null = null;
  #manager: CertificateManager | null = null;

  private constructor(options: ServingCertificateOptions, store: CertificateStore, initial: CertificatePair | null) {
    this.#options = options;
    this.#store = store;
    this.#initial = initial;
    if (!initial) return;
    servingCertificateExpiry.set(initial.notAfterMs);
    this.#serve(initial);
  }

  /**
   * Serves the stored certificate. An expired one is better than none: not every client verifies it, such as an API server without
   * --kubelet-certificate-authority.
   */
  static async load(options: ServingCertificateOptions): Promise<ServingCertificate> {
    const { certDirectory, files, logger } = options;
    const store = new CertificateStore({ prefix: 'kubelet-server', folder: certDirectory, files, logger });
    const initial = await store.load().catch((err: unknown) => {
      logger.error({ err: messageOf(err) }, 'The serving certificate is broken, another one is requested');
      return null;
    });
    return new ServingCertificate(options, store, initial);
  }

  /** Starts requesting. Called once. */
  start(client: ApiClient): void {
    const { clock, logger } = this.#options;
    const initial = this.#initial;
    this.#manager = CertificateManager.start({
      purpose: 'serving',
      template: () => this.#template,
      store: this.#store,
      initial,
      mustRotate: !initial || initial.notAfterMs <= clock.now(),
      rotates: true,
      openAccess: async () => ({ client, credentials: 'client certificate', pendingKey: null, close: async () => {} }),
      onIssued: (pair) => this.#serve(pair),
      metrics: {
        failed: () => servingRenewErrors.inc(),
        replaced: (seconds) => servingRotationAge.observe(seconds),
        notAfterMs: (ms) => servingCertificateExpiry.set(ms),
      },
      clock,
      logger,
    });
  }

  /** Called with the addresses of the Node, at first and when it may have changed. */
  setAddresses(addresses: readonly NodeAddress[]): void {
    const { nodeName, allowsDNSOnly } = this.#options;
    const template = servingTemplate(nodeName, addresses, allowsDNSOnly);
    if (equalTemplates(template, this.#template)) return;
    this.#template = template;
    this.#manager?.templateChanged();
  }

  async close(): Promise<void> {
    await this.#manager?.close();
  }

  #serve(pair: CertificatePair): void {
    this.#options.serve(pair).catch((err: unknown) => {
      this.#options.logger.error({ err: messageOf(err) }, 'The server does not use the certificate');
    });
  }
}
