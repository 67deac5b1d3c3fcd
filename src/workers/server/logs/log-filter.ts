/**
 * Bytes of a log file in, bytes for the client out: lines are parsed, chosen and stamped as the options say. Pure but for its own
 * memory, which is bounded whatever the file holds: a CRI line that is longer than is held goes through in pieces. Upstream: the loop of
 * ReadLogs and logWriter in k8s.io/cri-client/pkg/logs.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { LogOptions } from './log-options.ts';
import { isBefore } from './log-time.ts';
import { parseCriHeader, parseCriLine, parseDockerLine, type LineHeader, type LogLine } from './parse-line.ts';

const newline = 0x0a;
const openingBrace = 0x7b;
/** Of a line whose end has not come. Runtimes split lines at 16 KiB (containerd's max_container_log_line_size) unless told otherwise. */
const maxHeldBytes = 256 * 1024;
/** A JSON entry makes sense only as a whole. */
const maxHeldJsonBytes = 4 * 1024 * 1024;

/** No line of the file could be read: it is no log, or one of a format that nobody knows. */
export class LogFormatError extends Error {
  override readonly name = 'LogFormatError';
}

type FilterOptions = Pick<LogOptions, 'follow' | 'limitBytes' | 'since' | 'stream' | 'tailLines' | 'timestamps'>;
type Long = { readonly header: LineHeader | null };

export class LogFilter {
  readonly #options: FilterOptions;
  #parse: ((line: Buffer) => LogLine | null) | null = null;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The line that goes through in pieces; its header is null when it is thrown away. */
  #long: Long | null = null;
  #output: Buffer[] = [];
  #atLineStart = true;
  #bytesLeft: number;
  #linesLeft: number;
  #unreadable = 0;
  #firstUnreadable = '';

  constructor(options: FilterOptions) {
    this.#options = options;
    this.#bytesLeft = options.limitBytes ?? Infinity;
    // A tail that is not followed ends with its last line, also when more were written meanwhile.
    this.#linesLeft = options.tailLines !== null && !options.follow ? options.tailLines : Infinity;
  }

  /** The client has all that it asked for. */
  get done(): boolean {
    return this.#bytesLeft <= 0 || this.#linesLeft <= 0;
  }

  /** Lines that were left out since they could not be parsed. */
  get unparsableLines(): number {
    return this.#unreadable;
  }

  /** What the bytes make of output; empty when nothing. The block is not kept, but the output may be part of it. */
  push(block: Buffer): Buffer {
    let start = 0;
    while (!this.done) {
      const end = block.indexOf(newline, start);
      if (end < 0) break;
      this.#endLine(block.subarray(start, end + 1));
      start = end + 1;
    }
    if (!this.done && start < block.length) this.#hold(block.subarray(start));
    return this.#take();
  }

  /** No more comes: what was held of a line without its end counts as one. Throws LogFormatError when nothing could be read. */
  end(): Buffer {
    if (!this.done && this.#heldBytes > 0) this.#endLine(Buffer.alloc(0));
    this.checkFormat();
    return this.#take();
  }

  /** The file begins anew (rotation, truncation): the rest of a line will not come. */
  startNewFile(): void {
    if (this.#heldBytes > 0) this.#endLine(Buffer.alloc(0));
    this.#long = null;
  }

  /** Throws LogFormatError when there were lines, and none of them could be read. */
  checkFormat(): void {
    if (this.#parse === null && this.#unreadable > 0) {
      throw new LogFormatError(`failed to get parse function: unsupported log format: ${this.#firstUnreadable}`);
    }
  }

  #take(): Buffer {
    const output = this.#output;
    this.#output = [];
    return output.length === 1 ? output[0]! : Buffer.concat(output);
  }

  #hold(rest: Buffer): void {
    if (this.#long) return this.#piece(this.#long, rest, false);
    this.#held.push(Buffer.from(rest));
    this.#heldBytes += rest.length;
    if (this.#heldBytes <= maxHeldBytes || (this.#held[0]!.length > maxHeldBytes && this.#heldBytes <= maxHeldJsonBytes)) return;
    const line = Buffer.concat(this.#held);
    const header = parseCriHeader(line);
    if (header) {
      this.#parse ??= parseCriLine;
      this.#dropHeld();
      this.#long = { header };
      this.#startContent(header);
      this.#piece(this.#long, line.subarray(header.contentAt), false);
    } else if (line[0] === openingBrace && this.#parse !== parseCriLine && this.#heldBytes <= maxHeldJsonBytes) {
      this.#held = [line];
    } else {
      this.#countUnreadable(line);
      this.#dropHeld();
      this.#long = { header: null };
    }
  }

  #endLine(end: Buffer): void {
    const long = this.#long;
    if (long) {
      this.#piece(long, end, true);
      this.#long = null;
      return;
    }
    const line = this.#heldBytes === 0 ? end : Buffer.concat([...this.#held, end]);
    this.#dropHeld();
    const parsed = this.#parse ? this.#parse(line) : this.#detect(line);
    if (!parsed) return this.#countUnreadable(line);
    this.#startContent(parsed);
    this.#write(parsed, parsed.content);
    this.#endContent(parsed, parsed.content);
  }

  /** The first line that can be read says which format the file has. */
  #detect(line: Buffer): LogLine | null {
    for (const parse of [parseCriLine, parseDockerLine]) {
      const parsed = parse(line);
      if (!parsed) continue;
      this.#parse = parse;
      return parsed;
    }
    return null;
  }

  #piece({ header }: Long, bytes: Buffer, isLast: boolean): void {
    if (!header) return;
    const content = isLast && header.partial && bytes.at(-1) === newline ? bytes.subarray(0, -1) : bytes;
    this.#write(header, content);
    if (isLast) this.#endContent(header, content);
  }

  #startContent(header: LineHeader): void {
    if (this.#options.timestamps && this.#atLineStart) this.#write(header, Buffer.from(`${header.time.text} `, 'latin1'));
  }

  #endContent(header: LineHeader, content: Buffer): void {
    this.#linesLeft -= 1;
    if (this.#isOfStream(header)) this.#atLineStart = content.length === 0 || content.at(-1) === newline;
  }

  #write(header: LineHeader, bytes: Buffer): void {
    const { since } = this.#options;
    if (!this.#isOfStream(header) || (since && isBefore(header.time, since))) return;
    const fitting = bytes.length > this.#bytesLeft ? bytes.subarray(0, Math.max(0, this.#bytesLeft)) : bytes;
    this.#bytesLeft -= fitting.length;
    if (fitting.length > 0) this.#output.push(fitting);
  }

  #isOfStream({ stream }: LineHeader): boolean {
    return this.#options.stream === null || this.#options.stream === stream;
  }

  #dropHeld(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }

  #countUnreadable(line: Buffer): void {
    if (this.#unreadable === 0) this.#firstUnreadable = goQuote(line.subarray(0, 200).toString('utf8'));
    this.#unreadable += 1;
  }
}
