/** Bounds the files of a volume. Pure. */
import { LargeWorkError, maxLargeBytes } from '../large-work.ts';
import type { FileProjection } from './atomic-writer.ts';

/** Throws LargeWorkError when a repeated set-up with permission for large work may write the files; an Error when not even that may. */
export function checkLength(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  if (maxBytes < maxLargeBytes) throw new LargeWorkError();
  throw new Error(`its files have more than ${maxLargeBytes} bytes, which a kubelet does not write into one volume`);
}

/** Collects the files, and stops when they are longer than `maxBytes` in total: then throws like `checkLength`. */
export function collectFiles(
  files: Iterable<readonly [path: string, file: FileProjection]>,
  maxBytes: number,
): Map<string, FileProjection> {
  const collected = new Map<string, FileProjection>();
  let bytes = 0;
  for (const [path, file] of files) {
    bytes += file.content.length;
    checkLength(bytes, maxBytes);
    collected.set(path, file);
  }
  return collected;
}
