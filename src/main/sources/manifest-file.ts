/**
 * Reads one manifest file. The file is read again only after a change of its signature, and decoded again only after a change of its
 * content. While the file is invalid, its last valid pod keeps running: a typing error must not stop a pod. A file that stays empty stops it.
 */
import { createHash } from 'node:crypto';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { FileAccess } from './file-access.ts';
import { decodeInTime, type DecodeManifest } from './manifest-source.ts';

export interface ManifestFile {
  /** The last valid pod; null when the file was never valid. */
  readonly pod: Pod | null;
  /** Why the file is invalid now; null when it contains `pod`. */
  readonly error: string | null;
  /** The signature of the file that was read; null when the file must be read again. */
  readonly signature: string | null;
  readonly contentHash: string | null;
  /** Monotonic ms at which the file was first seen without any content but comments. */
  readonly emptySinceMs?: number;
  /** The pool did not answer: the file may be valid. */
  readonly isUndecoded?: boolean;
}

export interface ReadManifestOptions {
  readonly files: Pick<FileAccess, 'info' | 'read' | 'isFull'>;
  readonly decode: DecodeManifest;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Two writes within one tick of the file system's clock (4 ms) have the same signature. An older signature is unambiguous. */
const settledAfterMs = 100;

/** Editors and `cat >` empty a file before they write it. */
const maxEmptyMs = 20_000;

/** Null when the file does not exist. Never rejects. */
export async function readManifestFile(
  path: string,
  previousFile: ManifestFile | null,
  options: ReadManifestOptions,
): Promise<ManifestFile | null> {
  const { files, clock } = options;
  const lastValidPod = previousFile?.pod ?? null;
  try {
    const info = await files.info(path);
    if (!info) return null;
    if (info.kind === 'folder') return invalid(null, 'is a folder, which is not searched for manifests');
    if (info.kind === 'other') return invalid(null, 'is neither a folder nor a regular file');
    if (previousFile && previousFile.signature === info.signature) return await withoutPodIfEmpty(path, previousFile, options);
    const content = await files.read(path);
    const signature = clock.now() - info.changedAtMs > settledAfterMs ? info.signature : null;
    const contentHash = createHash('sha256').update(content).digest('hex');
    if (previousFile && previousFile.contentHash === contentHash) {
      return await withoutPodIfEmpty(path, { ...previousFile, signature }, options);
    }
    if (isEmptyManifest(content)) {
      const emptySinceMs = previousFile?.emptySinceMs ?? clock.monotonic();
      const file = { ...invalid(lastValidPod, 'holds no pod'), signature, contentHash, emptySinceMs };
      return await withoutPodIfEmpty(path, file, options);
    }
    return { ...(await decodeFile(path, content, lastValidPod, options)), signature, contentHash };
  } catch (err) {
    return { ...invalid(lastValidPod, messageOf(err)), ...(err instanceof UndecodedError ? { isUndecoded: true } : {}) };
  }
}

/** Drops the pod of a file that stays empty. On a full disk a writer can be unable to fill the file. */
async function withoutPodIfEmpty(path: string, file: ManifestFile, { files, clock }: ReadManifestOptions): Promise<ManifestFile> {
  const { pod, emptySinceMs } = file;
  if (!pod || emptySinceMs === undefined || clock.monotonic() - emptySinceMs < maxEmptyMs) return file;
  return (await files.isFull(path).catch(() => true)) ? file : { ...file, pod: null };
}

/** Returns whether a manifest has only blank lines, comments and separators of documents. */
function isEmptyManifest(content: Uint8Array): boolean {
  const lines = Buffer.from(content)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split('\n');
  return lines.every((line) => /^[ \t]*(?:---[ \t]*)?(?:#|\r?$)/.test(line));
}

/** The pool did not answer. */
class UndecodedError extends Error {}

async function decodeFile(
  path: string,
  content: Uint8Array,
  lastValidPod: Pod | null,
  { decode, nodeName, clock, signal }: ReadManifestOptions,
): Promise<{ pod: Pod | null; error: string | null }> {
  const task = { source: 'file', origin: path, nodeName, content } as const;
  const { pods, errors } = await decodeInTime(decode, task, clock, signal).catch((err: unknown) => {
    throw new UndecodedError(messageOf(err));
  });
  const [pod = null] = pods;
  if (errors.length === 0 && pod) return { pod, error: null };
  return { pod: lastValidPod, error: errors.join('; ') || 'holds no pod' };
}

function invalid(pod: Pod | null, error: string): ManifestFile {
  return { pod, error, signature: null, contentHash: null };
}
