/**
 * One manifest file over time. It is read only when it changed and decoded only when its content did; while it is bad, the last good
 * pod stands: a typing error must not stop what runs.
 */
import { createHash } from 'node:crypto';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { FileAccess } from './file-access.ts';
import { decodeInTime, type DecodeManifest } from './manifest-source.ts';

export interface ManifestFile {
  /** Null: never seen good. */
  readonly pod: Pod | null;
  /** Why `pod` is not what the file says now; null when it is. */
  readonly error: string | null;
  /** Of the file when it was read; null: read it again. */
  readonly signature: string | null;
  readonly contentHash: string | null;
  /** Nobody has looked at it: the pool gave no answer. It may be good. */
  readonly isUndecided?: boolean;
}

export interface ReadManifestOptions {
  readonly files: Pick<FileAccess, 'info' | 'read'>;
  readonly decode: DecodeManifest;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Two writes within one tick of the file system's clock (4 ms) look the same; after this long a signature can be trusted. */
const settledAfterMs = 100;

/** What the file is now, given what it was. Null when it is gone. Never rejects. */
export async function readManifestFile(
  path: string,
  before: ManifestFile | null,
  options: ReadManifestOptions,
): Promise<ManifestFile | null> {
  const { files, clock } = options;
  const lastGood = before?.pod ?? null;
  try {
    const info = await files.info(path);
    if (!info) return null;
    if (info.kind === 'folder') return bad(null, 'is a folder, which is not searched for manifests');
    if (info.kind === 'other') return bad(null, 'is neither a folder nor a regular file');
    if (before && before.signature === info.signature) return before;
    const content = await files.read(path);
    const signature = clock.now() - info.changedAtMs > settledAfterMs ? info.signature : null;
    const contentHash = createHash('sha256').update(content).digest('hex');
    if (before && before.contentHash === contentHash) return { ...before, signature };
    return { ...(await decodeFile(path, content, lastGood, options)), signature, contentHash };
  } catch (err) {
    return { ...bad(lastGood, messageOf(err)), ...(err instanceof Undecided ? { isUndecided: true } : {}) };
  }
}

class Undecided extends Error {}

async function decodeFile(
  path: string,
  content: Uint8Array,
  lastGood: Pod | null,
  { decode, nodeName, clock, signal }: ReadManifestOptions,
): Promise<{ pod: Pod | null; error: string | null }> {
  const task = { source: 'file', origin: path, nodeName, content } as const;
  const { pods, errors } = await decodeInTime(decode, task, clock, signal).catch((err: unknown) => {
    throw new Undecided(messageOf(err));
  });
  const [pod = null] = pods;
  if (errors.length === 0 && pod) return { pod, error: null };
  return { pod: lastGood, error: errors.join('; ') || 'holds no pod' };
}

function bad(pod: Pod | null, error: string): ManifestFile {
  return { pod, error, signature: null, contentHash: null };
}
