/** Reads a table of typed rows (typed-table.ts) while its writer changes it. */
import type { Field, Fields, Layout, Row, ValueOf } from './table-layout.ts';

export const headerCells = 4;
export const headerBytes = headerCells * 4;
/** 32-bit cells at the beginning of a table. */
export const headerCell = { fingerprint: 0, capacity: 1, highWater: 2, used: 3 } as const;
/** A write takes about a microsecond. If the version is still odd after this many reads, the writer was preempted, or died. */
const maxSpins = 1000;
/** After these reads the reader sleeps for a millisecond, so that a preempted writer can continue, and tries again, at most this often. */
const maxSleeps = 20;

export class TableReader<S extends Fields> {
  readonly layout: Layout<S>;
  readonly capacity: number;
  protected readonly header: Int32Array;
  protected readonly view: DataView;
  /** The whole buffer, for comparing bytes without decoding them (`fieldOffset`). */
  readonly bytes: Buffer;
  protected readonly cells: Int32Array;
  readonly #base: number;

  constructor(layout: Layout<S>, buffer: SharedArrayBuffer, byteOffset: number) {
    this.layout = layout;
    this.header = new Int32Array(buffer, byteOffset, headerCells);
    if (Atomics.load(this.header, headerCell.fingerprint) !== layout.fingerprint) {
      throw new Error(`the shared buffer of ${buffer.byteLength} bytes does not hold the table ${layout.name} at ${byteOffset}`);
    }
    this.capacity = this.header[headerCell.capacity]!;
    this.#base = byteOffset + headerBytes;
    this.view = new DataView(buffer);
    this.bytes = Buffer.from(buffer);
    this.cells = new Int32Array(buffer, 0, Math.floor(buffer.byteLength / 4));
  }

  /** The number of rows in use. */
  get used(): number {
    return Atomics.load(this.header, headerCell.used);
  }

  /** No row at or above this number was ever in use: the end for a loop over the table. */
  get highWater(): number {
    return Atomics.load(this.header, headerCell.highWater);
  }

  /** The row's version. Grows by two with each write of the row. Odd during a write. */
  version(row: number): number {
    return Atomics.load(this.cells, this.versionCell(row));
  }

  /** A consistent copy of the row. Undefined when it is free, or was left half-written by a dead writer without a successor so far. */
  read(row: number): Row<S> | undefined {
    return this.consistently(row, () => {
      if (!this.inUse(row)) return undefined;
      const values: Record<string, unknown> = {};
      for (const field of Object.keys(this.layout.fields)) values[field] = this.peek(row, field);
      return values as Row<S>;
    });
  }

  /** One field; undefined as in `read`. Allocates nothing for a number. */
  get<K extends keyof S & string>(row: number, field: K): ValueOf<S[K]> | undefined {
    return this.consistently(row, () => (this.inUse(row) ? this.peek(row, field) : undefined));
  }

  /** Yields every row in use, as [row number, values]. */
  *rows(): Generator<[number, Row<S>]> {
    const end = this.highWater;
    for (let row = 0; row < end; row += 1) {
      const values = this.read(row);
      if (values) yield [row, values];
    }
  }

  /** Whether the row is in use, without the version check: for the row's own writer, or inside `consistently`. */
  inUse(row: number): boolean {
    return this.cells[this.versionCell(row) + 1] === 1;
  }

  /** A field without the version check: for the row's own writer, or inside `consistently`. */
  peek<K extends keyof S & string>(row: number, field: K): ValueOf<S[K]> {
    return this.#load(this.fieldOffset(row, field), this.layout.fields[field]!) as ValueOf<S[K]>;
  }

  /** The offset of a field in `bytes`. A text is two bytes of length (little endian), then the bytes. */
  fieldOffset(row: number, field: keyof S & string): number {
    return this.rowOffset(row) + this.layout.offsets[field];
  }

  /** Whether a text field equals these bytes. Allocates nothing. Without the version check, as `peek`. */
  textEquals(row: number, field: keyof S & string, other: Uint8Array, start: number, end: number): boolean {
    const offset = this.fieldOffset(row, field);
    const length = this.view.getUint16(offset, true);
    return length === end - start && this.bytes.compare(other, start, end, offset + 2, offset + 2 + length) === 0;
  }

  /** Repeats `read` until no write overlapped. Undefined when the row stays half-written. `read` must read only this row. */
  consistently<T>(row: number, read: () => T): T | undefined {
    const cell = this.versionCell(row);
    for (let sleeps = 0; sleeps <= maxSleeps; sleeps += 1) {
      let versionBefore = 0;
      for (let spin = 0; spin < maxSpins; spin += 1) {
        versionBefore = Atomics.load(this.cells, cell);
        if ((versionBefore & 1) === 1) continue;
        const value = read();
        // An atomic read-modify-write, not a load: on arm64 the reads above could otherwise happen after the check.
        if (Atomics.or(this.cells, cell, 0) === versionBefore) return value;
      }
      if (sleeps < maxSleeps) Atomics.wait(this.cells, cell, versionBefore, 1);
    }
    return undefined;
  }

  protected versionCell(row: number): number {
    return this.rowOffset(row) / 4;
  }

  protected rowOffset(row: number): number {
    if (!(row >= 0 && row < this.capacity))
      throw new RangeError(`row ${row} is not in the table ${this.layout.name} of ${this.capacity} rows`);
    return this.#base + row * this.layout.rowBytes;
  }

  #load(offset: number, { kind }: Field): number | bigint | string {
    switch (kind) {
      case 'u8':
        return this.view.getUint8(offset);
      case 'u32':
        return this.view.getUint32(offset, true);
      case 'i32':
        return this.view.getInt32(offset, true);
      case 'f64':
        return this.view.getFloat64(offset, true);
      case 'i64':
        return this.view.getBigInt64(offset, true);
      case 'text':
      default:
        return this.bytes.toString('utf8', offset + 2, offset + 2 + this.view.getUint16(offset, true));
    }
  }
}
