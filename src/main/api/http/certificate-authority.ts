/** The certificate authorities that verify the API server: the kubeconfig's, whose file is reread periodically, or the host's. */
import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { transportCAReloads } from '../../../shared/metrics/definitions/rest-client.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { FileOrData } from '../kubeconfig/kubeconfig.ts';

/** The interval of upstream's client-go/transport/ca_rotation.go. */
const refreshPeriodMs = 5 * 60_000;
const firstCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

export type Authorities = Buffer | readonly string[];

export class CertificateAuthority {
  readonly #source: FileOrData | null;
  readonly #readFile: (path: string) => Promise<Buffer>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #current: Authorities | null = null;
  #readAtMs = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(source: FileOrData | null, readFile: (path: string) => Promise<Buffer>, clock: Clock, logger: Logger) {
    this.#source = source;
    this.#readFile = readFile;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Returns the same object until the content changes. Rejects only when no content was ever read. */
  async current(): Promise<Authorities> {
    if (!this.#source) return (this.#current ??= getCACertificates('system'));
    if ('data' in this.#source) return (this.#current ??= checkCertificates(this.#source.data));
    const { path } = this.#source;
    if (!this.#current || this.#clock.monotonic() >= this.#readAtMs + refreshPeriodMs) await (this.#reading ??= this.#read(path));
    return this.#current!;
  }

  async #read(path: string): Promise<void> {
    const previousAuthority = this.#current;
    this.#readAtMs = this.#clock.monotonic();
    try {
      const content = await this.#readFile(path).catch((err: unknown) => this.#fail('read_error', err));
      if (content.length === 0) this.#fail('empty', 'is empty');
      if (previousAuthority && content.equals(previousAuthority as Buffer)) {
        transportCAReloads.inc({ result: 'success', reason: 'unchanged' });
        return;
      }
      try {
        this.#current = checkCertificates(content);
      } catch (err) {
        this.#fail('ca_parse_error', err);
      }
      if (previousAuthority) transportCAReloads.inc({ result: 'success', reason: 'updated' });
    } catch (err) {
      if (!previousAuthority) throw new Error(`certificate-authority ${path}: ${messageOf(err)}`, { cause: err });
      this.#logger.error({ path, err: messageOf(err) }, 'Certificate authority can not be read, keeping the last one');
    } finally {
      this.#reading = null;
    }
  }

  #fail(reason: string, cause: unknown): never {
    transportCAReloads.inc({ result: 'failure', reason });
    throw new Error(messageOf(cause), { cause });
  }
}

/** Throws when the content has no readable certificate. TLS would skip such content and then trust no server. */
function checkCertificates(content: Buffer): Buffer {
  const [first] = firstCertificate.exec(content.toString('latin1')) ?? [];
  if (first === undefined) throw new Error('has no certificate in PEM');
  try {
    void new X509Certificate(first);
    return content;
  } catch (err) {
    throw new Error(`has a certificate that can't be read: ${messageOf(err)}`, { cause: err });
  }
}
