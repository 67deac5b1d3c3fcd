/** Reads the environment files of a container (fileKeyRef). Containers of its pod write them, so they may have any length. */
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EnvVar, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import { LargeWorkError, maxLargeBytes } from '../large-work.ts';
import { parseEnvFile, type EnvFile } from '../runtime-config/env-file.ts';
import { envFileKey } from '../runtime-config/make-environment.ts';

/** The limit of one file. */
const maxEnvFileBytes = 1024 * 1024;

export type FileKeyRef = NonNullable<NonNullable<EnvVar['valueFrom']>['fileKeyRef']>;

export interface EnvFileAccess {
  /** The limit of all files together: `maxSmallBytes`, or `maxLargeBytes` with permission for large work. */
  readonly maxBytes: number;
  /** Resolves with null when the file is longer than `maxBytes`. */
  readonly read: (ref: FileKeyRef, maxBytes: number) => Promise<string | null>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the assignments that the container refers to, by `envFileKey`. Reads one file after the other, and parses each once. Rejects with LargeWorkError
 * when the files are longer than `maxBytes` and may be read with permission, else with KubeletError `CreateContainerConfigError`.
 */
export async function readEnvFiles(
  container: Container | EphemeralContainer,
  { maxBytes, read, signal }: EnvFileAccess,
): Promise<ReadonlyMap<string, EnvFile>> {
  const files = new Map<string, EnvFile>();
  let remainingBytes = maxBytes;
  for (const { ref, keys } of filesOf(container)) {
    try {
      const content = await read(ref, Math.min(remainingBytes, maxEnvFileBytes));
      if (content === null) throw tooLong(ref, remainingBytes, maxBytes);
      remainingBytes -= Buffer.byteLength(content);
      files.set(envFileKey(ref), parseEnvFile(content, keys));
    } catch (err) {
      signal?.throwIfAborted();
      if (err instanceof LargeWorkError) throw err;
      throw new KubeletError('CreateContainerConfigError', `couldn't parse env file: ${messageOf(err)}`, { cause: err });
    }
  }
  return files;
}

/** Returns the error of the exceeded limit: that of all files if less room was left than one file may have, else that of one file. */
function tooLong({ path }: FileKeyRef, remainingBytes: number, maxBytes: number): Error {
  if (remainingBytes < maxEnvFileBytes && maxBytes < maxLargeBytes) return new LargeWorkError();
  if (remainingBytes < maxEnvFileBytes) return new Error(`the files of the environment have more than ${maxBytes} bytes in total`);
  return new Error(`${path} has more than ${maxEnvFileBytes} bytes`);
}

/** Returns each file once, with the keys that are taken from it. */
function filesOf({ env = [] }: Container | EphemeralContainer): Iterable<{ readonly ref: FileKeyRef; readonly keys: ReadonlySet<string> }> {
  const files = new Map<string, { readonly ref: FileKeyRef; readonly keys: Set<string> }>();
  for (const { valueFrom } of env) {
    const ref = valueFrom?.fileKeyRef;
    if (!ref) continue;
    const file = files.get(envFileKey(ref)) ?? { ref, keys: new Set() };
    file.keys.add(ref.key);
    files.set(envFileKey(ref), file);
  }
  return files.values();
}
