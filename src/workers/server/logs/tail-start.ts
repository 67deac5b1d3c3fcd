/**
 * Finds where the last lines of a log begin, reading blocks backwards. The pieces of a long line are one line, also when entries of the other
 * stream are between them. No file access. Upstream: findTailLineStartIndex, which counts pieces.
 */
import type { SkippedEntries } from './line-output.ts';
import type { LogStream } from './log-options.ts';
import { parseCriHeader, parseDockerLine, type LineHeader } from './parse-line.ts';

/** Reads up to `length` bytes at the position. */
export type ReadAt = (position: number, length: number) => Promise<Buffer>;

export interface TailStart {
  readonly position: number;
  readonly skippedEntries: SkippedEntries;
}

const newline = 0x0a;
const openingBrace = 0x7b;
const blockBytes = 64 * 1024;
/** A CRI header has a time of up to 64 characters, the stream and the tags. */
const headerBytes = 128;
const maxDockerEntryBytes = 4 * 1024 * 1024;
/** How far before the tail the first pieces of its lines are searched, if the other stream has entries between them. */
const maxLookBackBytes = 256 * 1024;

/** An incomplete last entry is not counted. Stops anywhere when the signal aborts. */
export async function findTailStart(readAt: ReadAt, size: number, lines: number, signal: AbortSignal): Promise<TailStart> {
  const tail = new Tail(size, lines);
  let entryEnd: number | null = null;
  for (let blockEnd = size; blockEnd > 0 && !signal.aborted;) {
    const blockStart = Math.max(0, blockEnd - blockBytes);
    const block = await readAt(blockStart, blockEnd - blockStart);
    // `at` is the newline before an entry; -1 when the entry begins before the block, or at the start of the file.
    for (let at = block.length; at >= 0;) {
      at = at > 0 ? block.lastIndexOf(newline, at - 1) : -1;
      if (at < 0 && blockStart > 0) break;
      const start = blockStart + at + 1;
      // What follows the last newline is not an entry yet.
      if (entryEnd !== null && start < entryEnd) {
        const inBlock = block.subarray(at + 1, at + 1 + Math.min(headerBytes, entryEnd - start));
        const isWholeHeader = inBlock[0] !== openingBrace && inBlock.length === Math.min(headerBytes, entryEnd - start);
        const bytes = isWholeHeader ? inBlock : await readEntry(readAt, start, entryEnd);
        if (tail.add(start, entryEnd, parseEntry(bytes))) return tail.start();
      }
      if (at < 0) return tail.start();
      entryEnd = start;
    }
    blockEnd = blockStart;
  }
  return tail.start();
}

async function readEntry(readAt: ReadAt, start: number, end: number): Promise<Buffer> {
  const bytes = await readAt(start, Math.min(headerBytes, end - start));
  return bytes[0] === openingBrace ? readAt(start, Math.min(maxDockerEntryBytes, end - start)) : bytes;
}

type Entry = Pick<LineHeader, 'stream' | 'partial'>;

function parseEntry(bytes: Buffer): Entry | null {
  return bytes[0] === openingBrace ? parseDockerLine(bytes) : parseCriHeader(bytes);
}

interface StreamTail {
  /** The start of the first line of the stream that belongs to the tail. Null: none does. */
  start: number | null;
  /** The first line of the tail is complete: all earlier entries of the stream are before the tail. */
  isComplete: boolean;
  /** The starts of these earlier entries, as far as they were read. */
  readonly earlier: number[];
}

const noTail = (): StreamTail => ({ start: null, isComplete: false, earlier: [] });

/** Collects entries backwards, beginning with the last one. */
class Tail {
  readonly #streams: Readonly<Record<LogStream, StreamTail>> = { stdout: noTail(), stderr: noTail() };
  #linesLeft: number;
  /** The end of the last entry that belongs to no line of the tail. Null: not found yet. */
  #boundary: number | null = null;
  #firstStart: number;

  constructor(size: number, lines: number) {
    this.#firstStart = size;
    this.#linesLeft = lines;
  }

  /** Returns true when the start of the tail is known. Bytes that are not an entry count as a line. */
  add(start: number, end: number, entry: Entry | null): boolean {
    const stream = entry && this.#streams[entry.stream];
    const isPiece = Boolean(entry?.partial && stream && stream.start !== null && !stream.isComplete);
    if (!isPiece && this.#linesLeft > 0) {
      this.#linesLeft -= 1;
      this.#firstStart = start;
      if (stream) stream.start = start;
    } else if (isPiece) {
      this.#firstStart = start;
      stream!.start = start;
    } else {
      this.#boundary ??= end;
      if (stream) {
        stream.isComplete = true;
        stream.earlier.push(start);
      }
    }
    if (this.#boundary === null) return false;
    const isKnown = Object.values(this.#streams).every(({ start, isComplete }) => start === null || isComplete);
    return isKnown || this.#boundary - start > maxLookBackBytes;
  }

  start(): TailStart {
    // A long line of one stream may begin before the last entry of the other stream that is not in the tail. Without such an entry the tail is the whole file.
    const position = this.#boundary === null ? 0 : Math.min(this.#boundary, this.#firstStart);
    const countOf = ({ earlier }: StreamTail) => earlier.filter((start) => start >= position).length;
    return { position, skippedEntries: { stdout: countOf(this.#streams.stdout), stderr: countOf(this.#streams.stderr) } };
  }
}
