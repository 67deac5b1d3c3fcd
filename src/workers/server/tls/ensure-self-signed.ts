/**
 * Writes a self-signed serving certificate when none is configured. A restart reuses it. Upstream: InitializeTLS of
 * cmd/kubelet/app/server.go.
 *
 * The new certificate is written to a staging file, then the key is replaced, then the certificate is renamed to its final name. A power
 * loss leaves no files, the old files, or a new key with the certificate in the staging file. The next start repairs each case.
 */
import { copyFile, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolderDurably, syncFolder, writeDurably } from '../../../shared/linux/write-durably.ts';
import { selfSignedCertificate } from './self-signed.ts';
import { computePairState, type PairFiles, type PairState } from './serving-pair.ts';

export interface SelfSignedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly host: string;
  /** Waits before an invalid pair is read again, because it may be incomplete. Default: one second. */
  readonly settle?: () => Promise<void>;
}

export type EnsuredPair =
  | { readonly done: 'found'; readonly expired: boolean }
  /** `replaced`: why the previous files were invalid; null when there were none. Their copies end in `.broken`. */
  | { readonly done: 'made'; readonly replaced: string | null };

/** Rejects when the existing files are not a pair and may belong to an operator. */
export async function ensureSelfSigned({ certFile, keyFile, host, settle = () => sleep(1000) }: SelfSignedFiles): Promise<EnsuredPair> {
  let files = await readPair(certFile, keyFile);
  let pair = computePairState(files, Date.now());
  if (pair.state === 'broken') {
    const staged = { cert: await readText(stagingPath(certFile)), key: files.key };
    if (computePairState(staged, Date.now()).state === 'good') {
      await renameStaged(certFile);
      return { done: 'made', replaced: null };
    }
    ({ files, pair } = await readSettled(files, pair, async () => {
      await settle();
      return readPair(certFile, keyFile);
    }));
  }
  if (pair.state === 'good') return { done: 'found', expired: pair.expired };
  if (pair.state === 'broken' && !pair.replaceable)
    throw new Error(`error reading ${files.key === null ? keyFile : certFile}, ${pair.problem}`);

  if (files.cert !== null) await copyFile(certFile, `${certFile}.broken`);
  if (files.key !== null) await copyFile(keyFile, `${keyFile}.broken`);
  const { cert, key } = selfSignedCertificate(host, Date.now());
  for (const folder of new Set([dirname(certFile), dirname(keyFile)])) await makeFolderDurably(folder, 0o755);
  await writeDurably(stagingPath(certFile), `${certFile}.partial`, cert, 0o644);
  await writeDurably(keyFile, `${keyFile}.partial`, key);
  await renameStaged(certFile);
  return { done: 'made', replaced: pair.state === 'broken' ? pair.problem : null };
}

function stagingPath(certFile: string): string {
  return `${certFile}.new`;
}

async function renameStaged(certFile: string): Promise<void> {
  await rename(stagingPath(certFile), certFile);
  await syncFolder(dirname(certFile));
}

/** Reads the pair again until two reads are equal. */
async function readSettled(
  files: PairFiles,
  pair: PairState,
  readLater: () => Promise<PairFiles>,
): Promise<{ files: PairFiles; pair: PairState }> {
  if (pair.state !== 'broken' || !pair.replaceable) return { files, pair };
  const laterFiles = await readLater();
  const isSame = laterFiles.cert === files.cert && laterFiles.key === files.key;
  return isSame ? { files, pair } : readSettled(laterFiles, computePairState(laterFiles, Date.now()), readLater);
}

async function readPair(certFile: string, keyFile: string): Promise<PairFiles> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  return { cert, key };
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw err;
  }
}
