/**
 * Writes the certificate of a kubelet that was given none, once: a restart finds it. Upstream: InitializeTLS of cmd/kubelet/app/server.go.
 *
 * The certificate lies beside its place before the key is in its own, and moves there last. A loss of power at any moment leaves nothing,
 * the old files, or a key whose certificate lies beside its place; each is put right at the next start.
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
  /** Waits before a broken pair is read again: somebody may be writing a new one. Default: for a second. */
  readonly settle?: () => Promise<void>;
}

export type EnsuredPair =
  | { readonly done: 'found'; readonly expired: boolean }
  /** `replaced`: what was wrong with the files that were there; null: there were none. Their copies end in `.broken`. */
  | { readonly done: 'made'; readonly replaced: string | null };

/** Rejects when files are there that may be an operator's, and that are no pair. */
export async function ensureSelfSigned({ certFile, keyFile, host, settle = () => sleep(1000) }: SelfSignedFiles): Promise<EnsuredPair> {
  let files = await readPair(certFile, keyFile);
  let pair = computePairState(files, Date.now());
  if (pair.state === 'broken') {
    const staged = { cert: await readText(stagedOf(certFile)), key: files.key };
    if (computePairState(staged, Date.now()).state === 'good') {
      await moveIn(certFile);
      return { done: 'made', replaced: null };
    }
    ({ files, pair } = await afterSettling(files, pair, async () => {
      await settle();
      return readPair(certFile, keyFile);
    }));
  }
  if (pair.state === 'good') return { done: 'found', expired: pair.expired };
  if (pair.state === 'broken' && !pair.replaceable)
    throw new Error(`error reading ${files.key === null ? keyFile : certFile}, ${pair.why}`);

  if (files.cert !== null) await copyFile(certFile, `${certFile}.broken`);
  if (files.key !== null) await copyFile(keyFile, `${keyFile}.broken`);
  const { cert, key } = selfSignedCertificate(host, Date.now());
  for (const folder of new Set([dirname(certFile), dirname(keyFile)])) await makeFolderDurably(folder, 0o755);
  await writeDurably(stagedOf(certFile), `${certFile}.partial`, cert, 0o644);
  await writeDurably(keyFile, `${keyFile}.partial`, key);
  await moveIn(certFile);
  return { done: 'made', replaced: pair.state === 'broken' ? pair.why : null };
}

function stagedOf(certFile: string): string {
  return `${certFile}.new`;
}

async function moveIn(certFile: string): Promise<void> {
  await rename(stagedOf(certFile), certFile);
  await syncFolder(dirname(certFile));
}

/** The pair as it is when it has not changed from one reading to the next. */
async function afterSettling(
  files: PairFiles,
  pair: PairState,
  readLater: () => Promise<PairFiles>,
): Promise<{ files: PairFiles; pair: PairState }> {
  if (pair.state !== 'broken' || !pair.replaceable) return { files, pair };
  const again = await readLater();
  const same = again.cert === files.cert && again.key === files.key;
  return same ? { files, pair } : afterSettling(again, computePairState(again, Date.now()), readLater);
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
