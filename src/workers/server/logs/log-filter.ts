/**
 * Converts the bytes of a log file to the bytes for the client: parses the entries, and passes them to LineOutput. The
 * buffer has a limit: a CRI entry that exceeds the buffer is output in pieces. No I/O. Upstream: the loop of ReadLogs and logWriter in
 * k8s.io/cri-client/pkg/logs.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { LineOutput, type OutputOptions, type SkippedEntries } from './line-output.ts';
import { parseCriHeader, parseCriLine, parseDockerLine, type LineHeader, type LogLine } from './parse-line.ts';

const newline = 0x0a;
const openingBrace = 0x7b;
/** Buffer limit for an incomplete line. Runtimes split lines at 16 KiB by default (containerd's max_container_log_line_size). */
const maxBufferedBytes = 256 * 1024;
/** Buffer limit for a JSON entry, which can only be parsed as a whole. */
const maxBufferedJsonBytes = 4 * 1024 * 1024;

/** No line of the file could be parsed: the file is not a log, or has an unknown format. */
export class LogFormatError extends Error {
  override readonly name = 'LogFormatError';
}

/** A line above the buffer limit, which is output in pieces. The header is null when the line is dropped. */
type LongLine = { readonly header: LineHeader | null };

export class LogFilter {
  readonly #lines: LineOutput;
  #parse: ((line: Buffer) => LogLine | null) | null = null;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #longLine: LongLine | null = null;
  #unparsable = 0;
  #firstUnparsable = '';

  constructor(options: OutputOptions) {
    this.#lines = new LineOutput(options);
  }

  /** The requested bytes or lines are complete. */
  get done(): boolean {
    return this.#lines.done;
  }

  /** Sets the entries to skip before the requested tail (LineOutput.skip). */
  skip(entries: SkippedEntries): void {
    this.#lines.skip(entries);
  }

  /** Number of lines that were skipped because they could not be parsed. */
  get unparsableLines(): number {
    return this.#unparsable;
  }

  /** Returns the output for the block, which may be empty or share memory with the block. */
  push(block: Buffer): Buffer {
    let start = 0;
    while (!this.done) {
      const end = block.indexOf(newline, start);
      if (end < 0) break;
      this.#endLine(block.subarray(start, end + 1));
      start = end + 1;
    }
    if (!this.done && start < block.length) this.#buffer(block.subarray(start));
    return this.#lines.take();
  }

  /** Ends the input and returns the last output: an incomplete line counts as a line. Throws LogFormatError when no line was parsed. */
  end(): Buffer {
    if (!this.done && this.#bufferedBytes > 0) this.#endLine(Buffer.alloc(0));
    this.checkFormat();
    return this.flush();
  }

  /** Returns the lines that were held because a line of the other stream is incomplete. */
  flush(): Buffer {
    this.#lines.flush();
    return this.#lines.take();
  }

  /** Called after rotation or truncation. Completes a partial line, whose rest will not follow. */
  startNewFile(): void {
    if (this.#bufferedBytes > 0) this.#endLine(Buffer.alloc(0));
    this.#longLine = null;
  }

  /** Throws LogFormatError when there were lines and none of them was parsed. */
  checkFormat(): void {
    if (this.#parse === null && this.#unparsable > 0) {
      throw new LogFormatError(`failed to get parse function: unsupported log format: ${this.#firstUnparsable}`);
    }
  }

  #buffer(rest: Buffer): void {
    if (this.#longLine) return this.#writePiece(this.#longLine, rest, false);
    this.#buffered.push(Buffer.from(rest));
    this.#bufferedBytes += rest.length;
    // A first element above the limit is a JSON entry that was joined below. Blocks are shorter than the limit.
    if (
      this.#bufferedBytes <= maxBufferedBytes ||
      (this.#buffered[0]!.length > maxBufferedBytes && this.#bufferedBytes <= maxBufferedJsonBytes)
    )
      return;
    const line = Buffer.concat(this.#buffered);
    const header = parseCriHeader(line);
    if (header) {
      this.#parse ??= parseCriLine;
      this.#dropBuffer();
      this.#longLine = { header };
      this.#lines.begin(header);
      this.#writePiece(this.#longLine, line.subarray(header.contentAt), false);
    } else if (line[0] === openingBrace && this.#parse !== parseCriLine && this.#bufferedBytes <= maxBufferedJsonBytes) {
      this.#buffered = [line];
    } else {
      this.#countUnparsable(line);
      this.#dropBuffer();
      this.#longLine = { header: null };
    }
  }

  #endLine(end: Buffer): void {
    const longLine = this.#longLine;
    if (longLine) {
      this.#writePiece(longLine, end, true);
      this.#longLine = null;
      return;
    }
    const line = this.#bufferedBytes === 0 ? end : Buffer.concat([...this.#buffered, end]);
    this.#dropBuffer();
    const parsed = this.#parse ? this.#parse(line) : this.#detect(line);
    if (!parsed) return this.#countUnparsable(line);
    this.#lines.entry(parsed, parsed.content);
  }

  /** The first line that can be parsed determines the format of the file. */
  #detect(line: Buffer): LogLine | null {
    for (const parse of [parseCriLine, parseDockerLine]) {
      const parsed = parse(line);
      if (!parsed) continue;
      this.#parse = parse;
      return parsed;
    }
    return null;
  }

  #writePiece({ header }: LongLine, bytes: Buffer, isLast: boolean): void {
    if (!header) return;
    const content = isLast && header.partial && bytes.at(-1) === newline ? bytes.subarray(0, -1) : bytes;
    this.#lines.part(header, content);
    if (isLast) this.#lines.finish(header, content);
  }

  #dropBuffer(): void {
    this.#buffered = [];
    this.#bufferedBytes = 0;
  }

  #countUnparsable(line: Buffer): void {
    if (this.#unparsable === 0) this.#firstUnparsable = goQuote(line.subarray(0, 200).toString('utf8'));
    this.#unparsable += 1;
  }
}
