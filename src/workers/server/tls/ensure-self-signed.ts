/** Writes the certificate of a kubelet that was given none, once: a restart finds it. Upstream: InitializeTLS of cmd/kubelet/app/server.go. */
import { constants } from 'node:fs';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { selfSignedCertificate } from './self-signed.ts';

export interface SelfSignedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly host: string;
}

/** Rejects when one of the two is there without the other: a pair is never made of what was not made together. */
export async function ensureSelfSigned({ certFile, keyFile, host }: SelfSignedFiles): Promise<'found' | 'made'> {
  const [hasCert, hasKey] = await Promise.all([isReadable(certFile), isReadable(keyFile)]);
  if (hasCert && hasKey) return 'found';
  if (hasCert !== hasKey) {
    const missing = hasCert ? keyFile : certFile;
    throw new Error(`error reading ${missing}, certificate and key must be supplied as a pair`);
  }
  const { cert, key } = selfSignedCertificate(host, Date.now());
  await writeWhole(keyFile, key, 0o600);
  await writeWhole(certFile, cert, 0o644);
  return 'made';
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw err;
  }
}

/** Whole or not at all: half a key would be found at the next start. */
async function writeWhole(path: string, content: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, content, { mode, flag: 'wx' });
  await rename(partial, path);
}
