/**
 * Loads a client certificate and key from files that are renewed externally (such as `kubelet-client-current.pem`, which contains both).
 * Rereads them periodically, so that new connections use the renewed certificate. Ignores a mismatched pair, as in the middle of a renewal.
 */
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { FileOrData } from '../kubeconfig/kubeconfig.ts';
import type { ClientCertificate } from './identity.ts';

/** Two small files are cheap enough to reread with nearly every lease renewal. */
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
  #readAtMs = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
  }

  /** Rejects only if no certificate was ever loaded. */
  async current(): Promise<ClientCertificate> {
    const { certificate, key, clock } = this.#options;
    const isFixed = 'data' in certificate && 'data' in key;
    if (!this.#current || (!isFixed && clock.monotonic() >= this.#readAtMs + refreshPeriodMs)) await (this.#reading ??= this.#read());
    return this.#current!;
  }

  /** Makes the next use reread the files if they were last read before `sentAtMs` (monotonic). */
  invalidateBefore(sentAtMs: number): void {
    if (this.#readAtMs < sentAtMs) this.#readAtMs = -Infinity;
  }

  async #read(): Promise<void> {
    const { certificate, key, readFile, clock, logger } = this.#options;
    const contentOf = (source: FileOrData) => ('data' in source ? source.data : readFile(source.path));
    try {
      const [cert, ownKey] = [await contentOf(certificate), await contentOf(key)];
      this.#readAtMs = clock.monotonic();
      const previous = this.#current;
      if (previous && cert.equals(previous.cert as Buffer) && ownKey.equals(previous.key as Buffer)) return;
      this.#check(cert, ownKey);
      this.#current = { cert, key: ownKey };
      if (previous) logger.info(pathsOf(this.#options), 'Certificate rotation detected, new connections use the new client certificate');
    } catch (err) {
      if (!this.#current) throw new Error(`client certificate: ${messageOf(err)}`, { cause: err });
      // A renewal in progress is complete at the next reread.
      this.#readAtMs = clock.monotonic();
      logger.warn({ err: messageOf(err), ...pathsOf(this.#options) }, 'Client certificate can not be read, keeping the last one');
    } finally {
      this.#reading = null;
    }
  }

  /** Throws for what TLS can't use. OpenSSL's messages name no file. */
  #check(cert: Buffer, key: Buffer): void {
    try {
      createSecureContext({ cert, key });
    } catch (err) {
      const files = new Set(Object.values(pathsOf(this.#options)));
      throw new Error([...files, messageOf(err)].join(': '), { cause: err });
    }
  }
}

function pathsOf({ certificate, key }: ClientCertificateOptions): Record<string, string> {
  return { ...('path' in certificate ? { certificate: certificate.path } : {}), ...('path' in key ? { key: key.path } : {}) };
}
