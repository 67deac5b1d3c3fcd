/**
 * Selects the lines of a log for the client and adds timestamps. The runtime writes a long line in pieces: entries with the tag P, and a last entry with
 * the tag F. Together they are one line, with the time of the first piece. While the line of one stream is incomplete, the lines of the other stream
 * are held. No I/O. Upstream counts and selects each piece, with the piece's own time.
 */
import type { LogOptions, LogStream } from './log-options.ts';
import { isBefore } from './log-time.ts';
import type { LineHeader } from './parse-line.ts';

const newline = 0x0a;
/** A line of one stream may stay incomplete for as long as its container runs, so the other stream is held only up to this limit. */
const maxHeldBytes = 64 * 1024;

export type OutputOptions = Pick<LogOptions, 'follow' | 'limitBytes' | 'since' | 'stream' | 'tailLines' | 'timestamps'>;
/** The number of entries of each stream to skip: they lie among the pieces of the requested tail, but belong to earlier lines. */
export type SkippedEntries = Readonly<Record<LogStream, number>>;

interface StreamState {
  /** The line's last piece has not come. */
  isOpen: boolean;
  /** The current line is not older than `since`. */
  isShown: boolean;
  /** The current entry is one of `entriesToSkip`. */
  isSkipped: boolean;
  entriesToSkip: number;
}

const closedStream = (): StreamState => ({ isOpen: false, isShown: false, isSkipped: false, entriesToSkip: 0 });

export class LineOutput {
  readonly #options: OutputOptions;
  readonly #streams: Readonly<Record<LogStream, StreamState>> = { stdout: closedStream(), stderr: closedStream() };
  #held: { readonly header: LineHeader; readonly content: Buffer }[] = [];
  #heldBytes = 0;
  /** The stream whose incomplete line was output last. */
  #writing: LogStream | null = null;
  #output: Buffer[] = [];
  #atLineStart = true;
  #bytesLeft: number;
  #linesLeft: number;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#bytesLeft = options.limitBytes ?? Infinity;
    // A tail without follow ends after the requested lines, also when more are written meanwhile.
    this.#linesLeft = options.tailLines !== null && !options.follow ? options.tailLines : Infinity;
  }

  /** The requested bytes or lines are complete. */
  get done(): boolean {
    return this.#bytesLeft <= 0 || this.#linesLeft <= 0;
  }

  /** Sets the entries to skip. */
  skip(entries: SkippedEntries): void {
    for (const stream of ['stdout', 'stderr'] as const) this.#streams[stream].entriesToSkip = entries[stream];
  }

  /** Returns what was output since the last call. */
  take(): Buffer {
    const output = this.#output;
    this.#output = [];
    return output.length === 1 ? output[0]! : Buffer.concat(output);
  }

  /** Adds a whole entry of the log. */
  entry(header: LineHeader, content: Buffer): void {
    if (!this.#isSelected(header)) return;
    if (this.#writing === null || this.#writing === header.stream) return this.#put(header, content);
    // A copy: the content is a part of a block.
    this.#held.push({ header, content: Buffer.from(content) });
    this.#heldBytes += content.length;
    if (this.#heldBytes > maxHeldBytes) this.flush();
  }

  /** Starts an entry that comes in parts. */
  begin(header: LineHeader): void {
    if (!this.#isSelected(header)) return;
    if (this.#writing !== header.stream) this.flush();
    this.#begin(header);
  }

  /** Continues the entry of the last `begin`. */
  part(header: LineHeader, bytes: Buffer): void {
    if (!this.#isSelected(header)) return;
    const { isSkipped, isShown } = this.#streams[header.stream];
    if (!isSkipped && isShown) this.#write(bytes);
  }

  /** Ends an entry. `bytes` is its last part, which was already passed to `part`. */
  finish(header: LineHeader, bytes: Buffer): void {
    if (!this.#isSelected(header)) return;
    this.#finish(header, bytes);
    if (this.#writing === null) this.flush();
  }

  /** Outputs the held lines, even in the middle of the other stream's incomplete line. */
  flush(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    this.#writing = null;
    for (const { header, content } of held) {
      if (this.done) return;
      this.#begin(header);
      this.part(header, content);
      this.#finish(header, content);
    }
  }

  #put(header: LineHeader, content: Buffer): void {
    this.#begin(header);
    this.part(header, content);
    this.finish(header, content);
  }

  #begin(header: LineHeader): void {
    const { since, timestamps } = this.#options;
    const stream = this.#streams[header.stream];
    stream.isSkipped = stream.entriesToSkip > 0;
    if (stream.isSkipped) {
      stream.entriesToSkip -= 1;
      return;
    }
    if (!stream.isOpen) stream.isShown = !(since && isBefore(header.time, since));
    stream.isOpen = true;
    if (!stream.isShown) return;
    this.#writing = header.stream;
    if (timestamps && this.#atLineStart) this.#write(Buffer.from(`${header.time.text} `, 'latin1'));
  }

  #finish(header: LineHeader, bytes: Buffer): void {
    const stream = this.#streams[header.stream];
    if (stream.isSkipped) return;
    if (!header.partial) this.#linesLeft -= 1;
    // The last entry of a file may lack its newline.
    stream.isOpen = header.partial || bytes.at(-1) !== newline;
    if (!stream.isOpen && this.#writing === header.stream) this.#writing = null;
  }

  #write(bytes: Buffer): void {
    const fittingBytes = bytes.length > this.#bytesLeft ? bytes.subarray(0, Math.max(0, this.#bytesLeft)) : bytes;
    this.#bytesLeft -= fittingBytes.length;
    if (fittingBytes.length === 0) return;
    this.#output.push(fittingBytes);
    this.#atLineStart = fittingBytes.at(-1) === newline;
  }

  #isSelected({ stream }: LineHeader): boolean {
    return this.#options.stream === null || this.#options.stream === stream;
  }
}
