/** Reads the body of a response up to 10 KiB (upstream ReadAtMost with maxRespBodyLength), in each of the three framings of HTTP/1.1. */
import { ResponseError } from './response-error.ts';

/** The bytes that a body is read up to (upstream: maxRespBodyLength). */
export const maxBodyBytes = 10 * 1024;

export interface BodyOptions {
  /** How the end of the body is found: after this number of bytes, at the last chunk, or at the end of the connection. */
  readonly framing: number | 'chunked' | 'untilClose';
  /** The text of this many bytes is kept. */
  readonly keptBytes: number;
}

const lineFeed = 0x0a;
/** Go's limit for the line before a chunk, which may have extensions. */
const maxChunkLineBytes = 4096;

export class BodyReader {
  readonly #options: BodyOptions;
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  /** Bytes left of the current chunk. */
  #chunkLeft = 0;
  /** What comes next in a chunked body: a chunk's size, its bytes, or the end of its line. */
  #next: 'size' | 'data' | 'dataEnd' = 'size';
  #line = '';

  constructor(options: BodyOptions) {
    this.#options = options;
  }

  get text(): string {
    return Buffer.concat(this.#kept).subarray(0, this.#options.keptBytes).toString();
  }

  /** Returns whether the body is complete, or its limit is reached. */
  read(chunk: Buffer, offset: number): boolean {
    if (this.#options.framing === 'chunked') return this.#readChunked(chunk, offset);
    this.#take(chunk.subarray(offset));
    return this.#isFull || this.#bytes >= (this.#options.framing === 'untilClose' ? Infinity : this.#options.framing);
  }

  end(): void {
    if (this.#options.framing !== 'untilClose') throw new ResponseError('unexpected EOF', true);
  }

  get #isFull(): boolean {
    return this.#bytes >= maxBodyBytes;
  }

  #take(data: Buffer): void {
    if (data.length === 0) return;
    if (this.#bytes < this.#options.keptBytes) this.#kept.push(Buffer.from(data));
    this.#bytes += data.length;
  }

  #readChunked(chunk: Buffer, start: number): boolean {
    let offset = start;
    while (offset < chunk.length && !this.#isFull) {
      if (this.#next === 'data') {
        const data = chunk.subarray(offset, offset + this.#chunkLeft);
        this.#take(data);
        offset += data.length;
        this.#chunkLeft -= data.length;
        if (this.#chunkLeft === 0) this.#next = 'dataEnd';
        continue;
      }
      const end = chunk.indexOf(lineFeed, offset);
      this.#line += chunk.toString('latin1', offset, end < 0 ? chunk.length : end);
      if (this.#line.length > maxChunkLineBytes) throw new ResponseError('header line too long', true);
      if (end < 0) return false;
      offset = end + 1;
      const line = this.#line.trimEnd();
      this.#line = '';
      if (this.#next === 'size' && this.#onChunkSize(line)) return true;
      if (this.#next === 'dataEnd') this.#onDataEnd(line);
    }
    return this.#isFull;
  }

  /** Returns whether this is the last chunk. Its trailers are not read: the connection is not used again. */
  #onChunkSize(line: string): boolean {
    const size = line.split(';', 1)[0]!.trim();
    if (!/^[0-9a-fA-F]+$/.test(size)) throw new ResponseError('invalid byte in chunk length', true);
    // Go: parseHexUint, for 64 bits.
    if (size.length > 16) throw new ResponseError('http chunk length too large', true);
    this.#chunkLeft = Number.parseInt(size, 16);
    if (this.#chunkLeft === 0) return true;
    this.#next = 'data';
    return false;
  }

  #onDataEnd(line: string): void {
    if (line !== '') throw new ResponseError('malformed chunked encoding', true);
    this.#next = 'size';
  }
}
