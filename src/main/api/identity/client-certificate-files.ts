/**
 * A client certificate whose files somebody renews (`kubelet-client-current.pem`, which holds both): looked at again from time to time, so
 * that new connections use the new one. A pair that does not fit together, as halfway through a renewal, is not taken.
 */
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { FileOrData } from '../kubeconfig/kubeconfig.ts';
import type { ClientCertificate } from './identity.ts';

/** Two small files: cheap enough to be looked at with nearly every lease. */
const refreshPeriodMs = 10_000;

export interface ClientCertificateOptions {
  readonly certificate: FileOrData;
  readonly key: FileOrData;
  readonly readFile: (path: string) => Promise<Buffer>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ClientCertificateFiles {
  readonly #options: ClientCertificateOptions;
  #current: ClientCertificate | null = null;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
  }

  /** Rejects only when no certificate was ever read. */
  async current(): Promise<ClientCertificate> {
    const { certificate, key, clock } = this.#options;
    const isFixed = 'data' in certificate && 'data' in key;
    if (!this.#current || (!isFixed && clock.monotonic() >= this.#readAt + refreshPeriodMs)) await (this.#reading ??= this.#read());
    return this.#current!;
  }

  /** Looks at the files again before the next use. */
  invalidateBefore(sentAt: number): void {
    if (this.#readAt < sentAt) this.#readAt = -Infinity;
  }

  async #read(): Promise<void> {
    const { certificate, key, readFile, clock, logger } = this.#options;
    const contentOf = (source: FileOrData) => ('data' in source ? source.data : readFile(source.path));
    try {
      const [cert, ownKey] = [await contentOf(certificate), await contentOf(key)];
      this.#readAt = clock.monotonic();
      const old = this.#current;
      if (old && cert.equals(old.cert as Buffer) && ownKey.equals(old.key as Buffer)) return;
      createSecureContext({ cert, key: ownKey });
      this.#current = { cert, key: ownKey };
      if (old) logger.info(pathsOf(this.#options), 'Certificate rotation detected, new connections use the new client certificate');
    } catch (err) {
      if (!this.#current) throw new Error(`client certificate: ${messageOf(err)}`, { cause: err });
      // A renewal that is half done is whole at the next look.
      this.#readAt = clock.monotonic();
      logger.warn({ err: messageOf(err), ...pathsOf(this.#options) }, 'Client certificate can not be read, the last one goes on');
    } finally {
      this.#reading = null;
    }
  }
}

function pathsOf({ certificate, key }: ClientCertificateOptions): Record<string, string> {
  return { ...('path' in certificate ? { certificate: certificate.path } : {}), ...('path' in key ? { key: key.path } : {}) };
}
