/**
 * Provides the TLS context of the secure server: serving certificate, client CAs, versions, ciphers and groups. The context is replaced when
 * files change or main sends a certificate. Open connections keep the context of their handshake.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { SecureServerSettings, ServingKeyPair } from '../../../shared/contracts/server/settings.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { ensureSelfSigned, type EnsuredPair } from './ensure-self-signed.ts';
import { handshakeOptions } from './handshake-options.ts';
import { WatchedFiles } from './watched-files.ts';

export interface TlsContextsOptions {
  readonly tls: SecureServerSettings['tls'];
  readonly clientCAFile: string;
  readonly reloadClientCAFile: boolean;
  readonly servingCertificate: ServingKeyPair | null;
  readonly logger: Logger;
}

/** The context of the next handshake. */
export interface TlsContext {
  readonly context: SecureContext;
  /** Incremented with each change of the client CAs. 0 while there are none. */
  readonly clientCAGeneration: number;
}

const retryMs = 5000;

export class TlsContexts {
  /** Called when the context has changed. */
  onChange: (context: TlsContext) => void = () => {};
  readonly #options: TlsContextsOptions;
  readonly #base: SecureContextOptions;
  readonly #generations = new WeakMap<object, number>();
  #serving: ServingKeyPair | null;
  #clientCA: string | null = null;
  #clientCAGeneration = 0;
  #current: TlsContext;
  #files: WatchedFiles[] = [];
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** Reads the files. Missing or invalid files are logged and retried; the listener runs without them. */
  static async start(options: TlsContextsOptions): Promise<TlsContexts> {
    const contexts = new TlsContexts(options);
    await Promise.all([contexts.#watchServing(), contexts.#watchClientCA()]);
    return contexts;
  }

  private constructor(options: TlsContextsOptions) {
    this.#options = options;
    this.#base = handshakeOptions(options.tls, options.logger);
    this.#serving = options.servingCertificate;
    this.#current = this.#createContext();
  }

  get current(): TlsContext {
    return this.#current;
  }

  /** Returns the generation of the client CAs that a handshake with this context used. 0 when there were none. */
  clientCAGenerationOf(context: object | undefined): number {
    return (context && this.#generations.get(context)) ?? 0;
  }

  /** Throws when certificate and key do not match, and keeps the previous certificate. */
  setServing(certificate: ServingKeyPair): void {
    const previousServing = this.#serving;
    this.#serving = certificate;
    try {
      this.#replaceContext();
    } catch (err) {
      this.#serving = previousServing;
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
        logger.error({ err, retryMs }, 'failed to create a serving certificate; retrying');
        if (!this.#closed) this.#retry = setTimeout(() => void this.#watchServing(), retryMs);
        return;
      }
    }
    const onContents = ([cert, key]: readonly Buffer[]) => this.setServing({ cert: cert!.toString(), key: key!.toString() });
    const files = await WatchedFiles.start({ paths: [certFile, keyFile], onContents, reload, logger });
    this.#addFiles(files);
  }

  async #watchClientCA(): Promise<void> {
    const { clientCAFile, reloadClientCAFile, logger } = this.#options;
    if (clientCAFile === '') return;
    const onContents = ([bundle]: readonly Buffer[]) => {
      this.#clientCA = parseBundle(bundle!.toString());
      this.#clientCAGeneration += 1;
      this.#replaceContext();
    };
    this.#addFiles(await WatchedFiles.start({ paths: [clientCAFile], onContents, reload: reloadClientCAFile, logger }));
  }

  #addFiles(files: WatchedFiles): void {
    this.#files.push(files);
    if (this.#closed) files.close();
  }

  #replaceContext(): void {
    this.#current = this.#createContext();
    this.onChange(this.#current);
  }

  #createContext(): TlsContext {
    const context = createSecureContext({
      ...this.#base,
      ...this.#serving,
      // `[]` means no CAs; with undefined Node would trust the public CAs.
      ca: this.#clientCA ?? [],
      // Like Go, trusts every certificate of the bundle, also intermediate ones.
      allowPartialTrustChain: true,
    });
    this.#generations.set(context, this.#clientCAGeneration);
    return { context, clientCAGeneration: this.#clientCAGeneration };
  }
}

function logEnsured(pair: EnsuredPair, files: { readonly certFile: string; readonly keyFile: string }, logger: Logger): void {
  if (pair.done === 'found') {
    // Upstream keeps an expired certificate, too: the clients that verify it were configured with this one.
    if (pair.expired) logger.warn(files, 'the serving certificate has expired; the kubelet creates a new one when its files are removed');
    return;
  }
  if (pair.replaced !== null)
    logger.error({ ...files, err: pair.replaced }, 'the serving certificate was invalid and is replaced; its copies end in .broken');
  logger.info(files, 'wrote a self-signed serving certificate');
}

/** Parses each certificate of a bundle. Throws when there is none or one is invalid. */
function parseBundle(text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return blocks.map((block) => new X509Certificate(block).toString()).join('');
}
