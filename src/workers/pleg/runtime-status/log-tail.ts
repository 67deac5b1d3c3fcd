/**
 * Reads the end of a container's log in the CRI format, with both streams in order. Upstream: ReadLogs with TailLines into a ring buffer
 * (staging/src/k8s.io/cri-client/pkg/logs). Reads backwards from the end of the file, and no more than necessary.
 */
import type { FileHandle } from 'node:fs/promises';
import { openLog } from '../../../shared/container-logs/open-log.ts';

export interface TailLimits {
  readonly maxLines: number;
  /** Limits the content of these lines to its last bytes. */
  readonly maxBytes: number;
}

const firstBlockBytes = 16 * 1024;
/** Holds 80 of containerd's longest lines (16 KiB and their headers). A log with longer lines has its tail truncated. */
const maxBlockBytes = 2 * 1024 * 1024;
const newline = 0x0a;
/** The result for a block inside of one long line. */
const emptyTail = { text: '', complete: false };

/** Rejects with the file system's error, for a file outside of `podLogsDir`, and for a file that is not a CRI log. */
export async function readLogTail(path: string, podLogsDir: string, limits: TailLimits): Promise<string> {
  const {
    handle: file,
    stats: { size },
  } = await openLog(path, podLogsDir);
  try {
    for (let length = Math.min(size, firstBlockBytes); ; length = Math.min(size, length * 4, maxBlockBytes)) {
      const block = await readBlock(file, size - length, length);
      const isWholeFile = length === size;
      // The first line of a block is incomplete, unless the block starts the file.
      const start = isWholeFile ? 0 : block.indexOf(newline) + 1;
      const tail = start === 0 && !isWholeFile ? emptyTail : tailOfLog(block.subarray(start), limits);
      if (isWholeFile || tail.complete || length === maxBlockBytes) return tail.text;
    }
  } finally {
    await file.close();
  }
}

async function readBlock(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/**
 * Returns the last lines. Pure. `complete` means that earlier lines would not change the result. An unterminated last line counts only
 * when there are too few others. Malformed lines are skipped, but a malformed first line means that the file is not a CRI log.
 */
export function tailOfLog(bytes: Buffer, { maxLines, maxBytes }: TailLimits): { readonly text: string; readonly complete: boolean } {
  const lines = splitLines(bytes);
  const terminated = lines.filter((line) => line.at(-1) === newline);
  const lastLines = terminated.length >= maxLines ? terminated.slice(-maxLines) : lines;
  if (lastLines.length > 0 && contentOf(lastLines[0]!) === undefined) {
    throw new Error(`unsupported log format: ${JSON.stringify(lastLines[0]!.toString('utf8', 0, 200))}`);
  }
  const content = Buffer.concat(lastLines.map(contentOf).filter((line) => line !== undefined));
  return {
    text: content.toString('utf8', Math.max(0, content.length - maxBytes)),
    complete: terminated.length >= maxLines || content.length >= maxBytes,
  };
}

/** Each line includes its newline, if it has one. */
function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    const next = end === -1 ? bytes.length : end + 1;
    lines.push(bytes.subarray(start, next));
    start = next;
  }
  return lines;
}

/** The header of a line, `2016-10-06T00:17:09.669794202Z stdout F `: time, stream, and tags separated by colons. */
const head = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) ([^ ]*) /;

/**
 * Returns the container's output in a line. A line that the runtime split (tag P) has no newline of its own. Undefined for a line that is
 * not in the CRI format.
 */
function contentOf(line: Buffer): Buffer | undefined {
  const match = head.exec(line.toString('latin1', 0, 200));
  if (!match) return undefined;
  const partial = match[1]!.split(':')[0] === 'P';
  const end = partial && line.at(-1) === newline ? line.length - 1 : line.length;
  return line.subarray(match[0].length, end);
}
