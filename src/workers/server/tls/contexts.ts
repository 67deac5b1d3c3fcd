/**
 * What TLS connections are made with: the serving certificate, the authorities of clients, versions, ciphers and groups. It changes when
 * files change or main hands a certificate over; connections that are open keep what they began with.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { SecureServerSettings, ServingCertificate } from '../../../shared/contracts/server/settings.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { ensureSelfSigned, type EnsuredPair } from './ensure-self-signed.ts';
import { handshakeOptions } from './handshake-options.ts';
import { WatchedFiles } from './watched-files.ts';

export interface TlsContextsOptions {
  readonly tls: SecureServerSettings['tls'];
  readonly clientCAFile: string;
  readonly reloadClientCAFile: boolean;
  readonly servingCertificate: ServingCertificate | null;
  readonly logger: Logger;
}

/** What the next handshake gets. */
export interface TlsContext {
  readonly context: SecureContext;
  /** Raised by each new set of authorities; 0: there is none, and nobody is known by a certificate. */
  readonly clientCAGeneration: number;
}

const retryMs = 5000;

export class TlsContexts {
  /** Called when it has changed. */
  onChange: (context: TlsContext) => void = () => {};
  readonly #options: TlsContextsOptions;
  readonly #base: SecureContextOptions;
  readonly #generations = new WeakMap<object, number>();
  #serving: ServingCertificate | null;
  #clientCA: string | null = null;
  #clientCAGeneration = 0;
  #current: TlsContext;
  #files: WatchedFiles[] = [];
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** Reads what there is. What is not there, or not right, is logged and awaited: the listener runs without it. */
  static async start(options: TlsContextsOptions): Promise<TlsContexts> {
    const contexts = new TlsContexts(options);
    await Promise.all([contexts.#watchServing(), contexts.#watchClientCA()]);
    return contexts;
  }

  private constructor(options: TlsContextsOptions) {
    this.#options = options;
    this.#base = handshakeOptions(options.tls, options.logger);
    this.#serving = options.servingCertificate;
    this.#current = this.#make();
  }

  get current(): TlsContext {
    return this.#current;
  }

  /** Of the authorities by which a handshake with this context knew its client; 0: there were none. */
  clientCAGenerationOf(context: object | undefined): number {
    return (context && this.#generations.get(context)) ?? 0;
  }

  /** Throws when the two do not belong together, and keeps what it had. */
  setServing(certificate: ServingCertificate): void {
    const before = this.#serving;
    this.#serving = certificate;
    try {
      this.#changed();
    } catch (err) {
      this.#serving = before;
      throw err;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    for (const file of this.#files) file.close();
  }

  async #watchServing(): Promise<void> {
    const { tls, logger } = this.#options;
    const { certFile, keyFile, selfSignedFor, reload } = tls;
    if (certFile === '') return;
    if (selfSignedFor !== null) {
      try {
        logEnsured(await ensureSelfSigned({ certFile, keyFile, host: selfSignedFor }), { certFile, keyFile }, logger);
      } catch (err) {
        logger.error({ err, retryMs }, 'there is no serving certificate, and none could be made; it will be tried again');
        if (!this.#closed) this.#retry = setTimeout(() => void this.#watchServing(), retryMs);
        return;
      }
    }
    const onContents = ([cert, key]: readonly Buffer[]) => this.setServing({ cert: cert!.toString(), key: key!.toString() });
    const files = await WatchedFiles.start({ paths: [certFile, keyFile], onContents, reload, logger });
    this.#keep(files);
  }

  async #watchClientCA(): Promise<void> {
    const { clientCAFile, reloadClientCAFile, logger } = this.#options;
    if (clientCAFile === '') return;
    const onContents = ([bundle]: readonly Buffer[]) => {
      const authorities = readBundle(bundle!.toString());
      this.#clientCA = authorities;
      this.#clientCAGeneration += 1;
      this.#changed();
    };
    this.#keep(await WatchedFiles.start({ paths: [clientCAFile], onContents, reload: reloadClientCAFile, logger }));
  }

  #keep(files: WatchedFiles): void {
    this.#files.push(files);
    if (this.#closed) files.close();
  }

  #changed(): void {
    this.#current = this.#make();
    this.onChange(this.#current);
  }

  #make(): TlsContext {
    const context = createSecureContext({
      ...this.#base,
      ...this.#serving,
      // Without any, Node would trust the public authorities: `[]` is none.
      ca: this.#clientCA ?? [],
      // As Go: what is in the bundle is trusted, and need not be a root.
      allowPartialTrustChain: true,
    });
    this.#generations.set(context, this.#clientCAGeneration);
    return { context, clientCAGeneration: this.#clientCAGeneration };
  }
}

function logEnsured(pair: EnsuredPair, files: { readonly certFile: string; readonly keyFile: string }, logger: Logger): void {
  if (pair.done === 'found') {
    // Upstream keeps it too. Clients that verify it have been shown this very certificate.
    if (pair.expired) logger.warn(files, 'the serving certificate has expired; without its files the kubelet makes a new one');
    return;
  }
  if (pair.replaced !== null)
    logger.error({ ...files, err: pair.replaced }, 'the serving certificate was no good and is replaced; its copies end in .broken');
  logger.info(files, 'wrote a self-signed serving certificate');
}

/** The certificates of a bundle, each read once to be sure. Throws when there are none, or one is broken. */
function readBundle(text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return blocks.map((block) => new X509Certificate(block).toString()).join('');
}
