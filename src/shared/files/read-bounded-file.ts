/** Reads small files that others may have written: kubeconfigs, tokens, certificates, checkpoints. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { goQuote } from '../kubernetes/go-text.ts';

/** Rejects if the file is not a regular file or is larger than `maxBytes`. */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer> {
  // Without O_NONBLOCK, opening a FIFO blocks one of few file threads until a process opens its other end.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${goQuote(path)} is not a regular file`);
    if (stat.size > maxBytes) throw new Error(`${goQuote(path)} is larger than ${maxBytes} bytes`);
    const content = Buffer.alloc(stat.size);
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    return content.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
