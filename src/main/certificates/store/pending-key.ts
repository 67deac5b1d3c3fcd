/**
 * The key of the first certificate while it is requested: `kubelet-client.key.tmp` in `--cert-dir`, as upstream's. A kubelet that is restarted
 * meanwhile takes up the same request.
 */
import { chmod, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { KeyObject } from 'node:crypto';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { makeFolderDurably, writeDurably } from '../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { signatureAlgorithmOf } from '../../../shared/x509/certificate-request.ts';
import { readBoundedFile } from '../../../shared/files/read-bounded-file.ts';
import { maxPairBytes, parsePrivateKey, toPEM } from '../certificate-pair.ts';
import { generateKey } from '../request/generate-key.ts';

export class PendingKey {
  readonly #folder: string;
  readonly #path: string;
  readonly #logger: Logger;
  /** Kept in memory, because the folder may not be writable. */
  #key: KeyObject | null = null;

  constructor(folder: string, logger: Logger) {
    this.#folder = resolve(folder);
    this.#path = join(this.#folder, 'kubelet-client.key.tmp');
    this.#logger = logger;
  }

  /** Returns the key of an interrupted request, or a new one. A key that can't be stored does not survive a restart. */
  async loadOrGenerate(): Promise<KeyObject> {
    this.#key ??= (await this.#load()) ?? (await this.#generate());
    return this.#key;
  }

  /** Called when the certificate is stored, or when the request with this key is of no use any more. */
  async discard(): Promise<void> {
    this.#key = null;
    await rm(this.#path, { force: true }).catch((err: unknown) => {
      this.#logger.warn({ path: this.#path, err: messageOf(err) }, 'Failed cleaning up private key file');
    });
  }

  /** Upstream does not start with a key that it can't read. Here it is set aside: it belongs to no certificate yet. */
  async #load(): Promise<KeyObject | null> {
    try {
      const key = parsePrivateKey((await readBoundedFile(this.#path, maxPairBytes)).toString('latin1'));
      if (signatureAlgorithmOf(key) === undefined) throw new Error('is of a type that no signer accepts');
      await chmod(this.#path, 0o600);
      this.#logger.info({ path: this.#path }, 'Reusing the private key of an interrupted certificate request');
      return key;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return null;
      this.#logger.error(
        { path: this.#path, err: messageOf(err) },
        'The private key can not be used and is replaced; its copy ends in .broken',
      );
      await rename(this.#path, `${this.#path}.broken`).catch(() => {});
      return null;
    }
  }

  async #generate(): Promise<KeyObject> {
    const key = await generateKey();
    const temporary = `${this.#path}.new`;
    try {
      await makeFolderDurably(this.#folder, 0o755);
      await rm(temporary, { force: true });
      await writeDurably(this.#path, temporary, toPEM(key));
    } catch (err) {
      this.#logger.error(
        { path: this.#path, err: messageOf(err) },
        'The private key can not be stored: a restart requests another certificate',
      );
    }
    return key;
  }
}
