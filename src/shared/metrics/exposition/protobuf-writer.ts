/** Writes fields of protobuf messages into a buffer that grows. Field numbers are below 16: their tags have one byte. */

/** Wire types. */
const [varint, fixed64, delimited] = [0, 1, 2];
const maxVarintBytes = 10;
/** A varint has seven bits per byte. Bit operators truncate numbers to 32 bits, so four groups of seven bits are written at a time. */
const fourGroups = 2 ** 28;

export class ProtobufWriter {
  #buffer: Buffer;
  #end = 0;

  constructor(initialBytes: number) {
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  get length(): number {
    return this.#end;
  }

  /** The bytes so far. A later write may change them, unless the writer is not used again. */
  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#end);
  }

  clear(): void {
    this.#end = 0;
  }

  /** @param value an integer from 0 to 2^53 */
  uint(field: number, value: number): void {
    this.#reserve(1 + maxVarintBytes);
    this.#tag(field, varint);
    this.#varint(value);
  }

  /** Writes in ZigZag encoding: 0, −1, 1, −2 are 0, 1, 2, 3. @param value an integer whose absolute value is below 2^52 */
  sint(field: number, value: number): void {
    this.uint(field, value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(field: number, value: number): void {
    this.#reserve(9);
    this.#tag(field, fixed64);
    this.#end = this.#buffer.writeDoubleLE(value, this.#end);
  }

  string(field: number, value: string): void {
    const bytes = Buffer.byteLength(value);
    this.#reserve(1 + maxVarintBytes + bytes);
    this.#tag(field, delimited);
    this.#varint(bytes);
    this.#end += this.#buffer.write(value, this.#end, 'utf8');
  }

  message(field: number, content: ProtobufWriter): void {
    this.open(field, content.length);
    this.raw(content.finish());
  }

  /** Begins a field of this length. The caller writes the content next. */
  open(field: number, contentBytes: number): void {
    this.#reserve(1 + maxVarintBytes);
    this.#tag(field, delimited);
    this.#varint(contentBytes);
  }

  /** Writes a length without a tag, for a message in a stream of messages. */
  size(value: number): void {
    this.#reserve(maxVarintBytes);
    this.#varint(value);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #tag(field: number, wireType: number): void {
    this.#buffer[this.#end++] = (field << 3) | wireType;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= fourGroups) {
      const low = rest % fourGroups;
      for (let shift = 0; shift < 28; shift += 7) this.#buffer[this.#end++] = ((low >>> shift) & 0x7f) | 0x80;
      rest = Math.floor(rest / fourGroups);
    }
    for (; rest >= 0x80; rest >>>= 7) this.#buffer[this.#end++] = (rest & 0x7f) | 0x80;
    this.#buffer[this.#end++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

/** The bytes of an integer as a varint. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let limit = 0x80; value >= limit; limit *= 0x80) bytes += 1;
  return bytes;
}
