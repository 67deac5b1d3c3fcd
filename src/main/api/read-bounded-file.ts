/** Small files that others write: kubeconfigs, tokens, certificates. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { goQuote } from '../../shared/kubernetes/go-text.ts';

/** The content of a regular file of at most so many bytes. */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer> {
  // A FIFO would otherwise hold one of few file threads until somebody writes.
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
