/**
 * The end of a container's log, in the CRI format: what the container said last, both streams as they came. Upstream: ReadLogs with
 * TailLines into a ring of bytes (staging/src/k8s.io/cri-client/pkg/logs). Reads the file from its end, and no more than it must.
 */
import type { FileHandle } from 'node:fs/promises';
import { openLog } from '../../../shared/kubernetes/open-log.ts';

export interface TailLimits {
  readonly maxLines: number;
  /** Of what the container said: the last so many bytes of those lines. */
  readonly maxBytes: number;
}

const firstBlockBytes = 16 * 1024;
/** 80 lines of containerd's longest (16 KiB and their heads) fit. A log with longer ones has its tail cut here. */
const maxBlockBytes = 2 * 1024 * 1024;
const newline = 0x0a;
/** Of a block in the middle of one endless line. */
const noTail = { text: '', complete: false };

/** Rejects as the file system does, for a file that lies outside of `podLogsDir`, and for one that is no CRI log. */
export async function readLogTail(path: string, podLogsDir: string, limits: TailLimits): Promise<string> {
  const {
    handle: file,
    stats: { size },
  } = await openLog(path, podLogsDir);
  try {
    for (let length = Math.min(size, firstBlockBytes); ; length = Math.min(size, length * 4, maxBlockBytes)) {
      const block = await readBlock(file, size - length, length);
      const whole = length === size;
      // Unless the block starts the file, its first line is a piece of one.
      const start = whole ? 0 : block.indexOf(newline) + 1;
      const tail = start === 0 && !whole ? noTail : tailOfLog(block.subarray(start), limits);
      if (whole || tail.complete || length === maxBlockBytes) return tail.text;
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
 * The last lines of these; pure. `complete`: more of the file before them would change nothing. A last line without its end counts
 * only where there are not enough others. Lines that can't be read are left out, but where the first can't, it is no log.
 */
export function tailOfLog(bytes: Buffer, { maxLines, maxBytes }: TailLimits): { readonly text: string; readonly complete: boolean } {
  const lines = splitLines(bytes);
  const whole = lines.filter((line) => line.at(-1) === newline);
  const last = whole.length >= maxLines ? whole.slice(-maxLines) : lines;
  if (last.length > 0 && contentOf(last[0]!) === undefined) {
    throw new Error(`unsupported log format: ${JSON.stringify(last[0]!.toString('utf8', 0, 200))}`);
  }
  const content = Buffer.concat(last.map(contentOf).filter((line) => line !== undefined));
  return {
    text: content.toString('utf8', Math.max(0, content.length - maxBytes)),
    complete: whole.length >= maxLines || content.length >= maxBytes,
  };
}

/** Each with its end of line, where it has one. */
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

/** `2016-10-06T00:17:09.669794202Z stdout F `: time, stream, tags separated by colons. */
const head = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) ([^ ]*) /;

/** What the container wrote; a line that the runtime split (tag P) has no end of its own. Undefined when it is no line of a CRI log. */
function contentOf(line: Buffer): Buffer | undefined {
  const match = head.exec(line.toString('latin1', 0, 200));
  if (!match) return undefined;
  const partial = match[1]!.split(':')[0] === 'P';
  const end = partial && line.at(-1) === newline ? line.length - 1 : line.length;
  return line.subarray(match[0].length, end);
}
