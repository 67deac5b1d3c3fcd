/**
 * The node's certificates in `--cert-dir`, in the format and places of client-go's file store: `<prefix>-<date>.pem` with chain and key, and
 * the link `<prefix>-current.pem`. A Go kubelet can take over, and the other way round. The owner writes one certificate at a time.
 */
import { chmod, lstat, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { makeFolderDurably, syncFolder, writeDurably } from '../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { readBoundedFile } from '../../../shared/files/read-bounded-file.ts';
import { maxPairBytes, parsePair, type CertificatePair } from '../certificate-pair.ts';

export interface CertificateStoreOptions {
  readonly prefix: 'kubelet-client' | 'kubelet-server';
  /** The flag --cert-dir. */
  readonly folder: string;
  /** Files that are used while there is no current certificate. Null: none. */
  readonly files?: { readonly cert: string; readonly key: string } | null;
  readonly logger: Logger;
}

/** Certificates that live for minutes must not fill the disk. */
const keptFiles = 20;

export class CertificateStore {
  readonly #options: CertificateStoreOptions;
  readonly #folder: string;
  readonly currentPath: string;

  constructor(options: CertificateStoreOptions) {
    this.#options = options;
    this.#folder = resolve(options.folder);
    this.currentPath = this.#path('current');
  }

  /** Returns null without a certificate. Rejects when there is one that can't be read, or whose key does not match. */
  async load(): Promise<CertificatePair | null> {
    await this.#recover();
    const { files, prefix, logger } = this.#options;
    const candidates = [
      { cert: this.currentPath, key: this.currentPath },
      ...(files ? [files] : []),
      { cert: join(this.#folder, `${prefix}.crt`), key: join(this.#folder, `${prefix}.key`) },
    ];
    for (const { cert, key } of candidates) {
      if (!(await exists(cert)) || !(await exists(key))) continue;
      try {
        const [certPEM, keyPEM] = await Promise.all(
          [cert, key].map(async (path) => (await readBoundedFile(path, maxPairBytes)).toString('latin1')),
        );
        const pair = parsePair(certPEM!, keyPEM!);
        if (cert === this.currentPath) await this.#protectCurrent();
        logger.debug({ cert, key }, 'Loaded the certificate');
        return pair;
      } catch (err) {
        throw new Error(`could not convert data from ${goQuote(cert)} into cert/key pair: ${messageOf(err)}`, { cause: err });
      }
    }
    return null;
  }

  /** Makes the pair the current one. After a crash, the old or the new one is current. */
  async save({ cert, key }: CertificatePair, now: Date): Promise<void> {
    await makeFolderDurably(this.#folder, 0o755);
    const path = this.#path(fileDate(now));
    const temporary = `${path}.tmp`;
    // A left-over file may have another mode.
    await rm(temporary, { force: true });
    await writeDurably(path, temporary, cert + key, 0o600);
    await this.#link(path);
    await this.#removeOld(path);
  }

  /** Upstream keeps all. The link is never without its file: `current` is not removed. */
  async #removeOld(current: string): Promise<void> {
    const pattern = new RegExp(`^${this.#options.prefix}-\\d{4}(-\\d\\d){5}\\.pem$`);
    const names = await readdir(this.#folder).catch(() => []);
    const old = names
      .filter((name) => pattern.test(name))
      .sort()
      .slice(0, -keptFiles);
    for (const name of old) {
      const path = join(this.#folder, name);
      if (path !== current) await rm(path, { force: true }).catch(() => {});
    }
  }

  /** Completes a replacement of the link by client-go, which removes the old link first. */
  async #recover(): Promise<void> {
    if (await exists(this.currentPath)) return;
    const updated = this.#path('updated');
    const kind = await kindOf(updated);
    if (kind === 'none') return;
    if (kind === 'other') throw new Error(`expected ${goQuote(updated)} to be a symlink but it is a file`);
    await rename(updated, this.currentPath);
  }

  async #link(target: string): Promise<void> {
    const updated = this.#path('updated');
    // A file in place of a link is somebody else's.
    for (const path of [this.currentPath, updated]) {
      if ((await kindOf(path)) === 'other') throw new Error(`expected ${goQuote(path)} to be a symlink but it is a file`);
    }
    await rm(updated, { force: true });
    await symlink(target, updated);
    await rename(updated, this.currentPath);
    await syncFolder(this.#folder);
  }

  async #protectCurrent(): Promise<void> {
    const { mode } = await stat(this.currentPath);
    if ((mode & 0o077) === 0) return;
    this.#options.logger.warn(
      { path: this.currentPath, mode: (mode & 0o777).toString(8) },
      'Other users could read the private key; its mode is now 600',
    );
    await chmod(this.currentPath, 0o600).catch((err: unknown) => {
      this.#options.logger.warn({ path: this.currentPath, err: messageOf(err) }, 'The mode of the private key can not be changed');
    });
  }

  #path(qualifier: string): string {
    return join(this.#folder, `${this.#options.prefix}-${qualifier}.pem`);
  }
}

/** Go's layout 2006-01-02-15-04-05, in local time. */
export function fileDate(date: Date): string {
  const parts = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  return [String(date.getFullYear()).padStart(4, '0'), ...parts.map((part) => String(part).padStart(2, '0'))].join('-');
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, absent);
}

async function kindOf(path: string): Promise<'none' | 'link' | 'other'> {
  const found = await lstat(path).catch(absent);
  if (!found) return 'none';
  return found.isSymbolicLink() ? 'link' : 'other';
}

function absent(err: unknown): false {
  if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false;
  throw err;
}
