/**
 * A table of typed rows in a SharedArrayBuffer: one thread writes, many threads read, without messages. Each row has a version (a seqlock), which is odd
 * during a write; a reader repeats a read that a write overlapped.
 *
 *  - One writer per row. Most tables have one writer for all rows, some (heartbeats) one for each row.
 *  - The number of rows is fixed at creation. Inserting into a full table throws an error with the table's name.
 *  - A writer that dies during a write leaves an odd version. Its successor empties that row when it opens the table.
 */
import { layoutOf, rowHeaderBytes, type Field, type Fields, type Layout, type Row, type ValueOf } from './table-layout.ts';

const headerCells = 4;
const headerBytes = headerCells * 4;
const [fingerprintCell, capacityCell, highWaterCell, usedCell] = [0, 1, 2, 3];
/** A write takes about a microsecond. If the version is still odd after this many reads, the writer was preempted, or died. */
const maxSpins = 1000;
/** Then the reader sleeps at most this often, for a millisecond each, so that a preempted writer can continue. */
const maxSleeps = 20;

export class TableFullError extends Error {
  override readonly name = 'TableFullError';
  constructor(table: string, capacity: number) {
    super(`the table ${table} is full: all of its ${capacity} rows are in use`);
  }
}

export interface TableDefinition<S extends Fields> {
  readonly layout: Layout<S>;
  /** The bytes of a table with this many rows, for several tables in one buffer. */
  bytes(capacity: number): number;
  /** Creates an empty table, in a new buffer or at an offset (a multiple of 8) of an existing one. */
  create(capacity: number, buffer?: SharedArrayBuffer, byteOffset?: number): SharedArrayBuffer;
  /** Throws when the buffer holds another table. */
  reader(buffer: SharedArrayBuffer, byteOffset?: number): TableReader<S>;
  /** Opens the table for the writer of all rows, or with `ownRows` of these rows only. Empties rows that a dead predecessor left half-written. */
  writer(buffer: SharedArrayBuffer, byteOffset?: number, ownRows?: readonly number[]): TableWriter<S>;
}

export function defineTable<S extends Fields>(name: string, fields: S): TableDefinition<S> {
  const layout = layoutOf(name, fields);
  const bytes = (capacity: number) => headerBytes + capacity * layout.rowBytes;
  return {
    layout,
    bytes,
    create(capacity, buffer = new SharedArrayBuffer(bytes(capacity)), byteOffset = 0) {
      const header = new Int32Array(buffer, byteOffset, headerCells);
      header[capacityCell] = capacity;
      Atomics.store(header, fingerprintCell, layout.fingerprint);
      return buffer;
    },
    reader: (buffer, byteOffset = 0) => new TableReader(layout, buffer, byteOffset),
    writer: (buffer, byteOffset = 0, ownRows) => new TableWriter(layout, buffer, byteOffset, ownRows),
  };
}

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
    if (Atomics.load(this.header, fingerprintCell) !== layout.fingerprint) {
      throw new Error(`the shared buffer of ${buffer.byteLength} bytes does not hold the table ${layout.name} at ${byteOffset}`);
    }
    this.capacity = this.header[capacityCell]!;
    this.#base = byteOffset + headerBytes;
    this.view = new DataView(buffer);
    this.bytes = Buffer.from(buffer);
    this.cells = new Int32Array(buffer, 0, Math.floor(buffer.byteLength / 4));
  }

  /** The number of rows in use. */
  get used(): number {
    return Atomics.load(this.header, usedCell);
  }

  /** No row at or above this number was ever in use: the end for a loop over the table. */
  get highWater(): number {
    return Atomics.load(this.header, highWaterCell);
  }

  /** Grows by two with each write of the row. Odd during a write. */
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

export class TableWriter<S extends Fields> extends TableReader<S> {
  readonly #free: number[] = [];

  constructor(layout: Layout<S>, buffer: SharedArrayBuffer, byteOffset: number, ownRows?: readonly number[]) {
    super(layout, buffer, byteOffset);
    const end = this.highWater;
    // Checks all rows, not only those below the high-water mark: a writer may have died before it raised the mark.
    for (const row of ownRows ?? Array(this.capacity).keys()) {
      if ((this.version(row) & 1) === 1) this.#empty(row);
      if (!ownRows && row < end && !this.inUse(row)) this.#free.push(row);
    }
    this.#free.reverse();
    if (!ownRows) Atomics.store(this.header, usedCell, end - this.#free.length);
  }

  /** Fills a free row and returns its number. Throws TableFullError, or RangeError for a text that is too long (the row stays free). */
  insert(values: Row<S>): number {
    return this.#insertWith((row) => this.put(row, values));
  }

  /** As `insert`, but every field that is not given becomes 0 or an empty text. Fast for rows of many fields. */
  insertSparse(values: Partial<Row<S>>): number {
    return this.#insertWith((row) => this.putSparse(row, values));
  }

  #insertWith(put: (row: number) => void): number {
    const row = this.#free.at(-1) ?? this.highWater;
    if (row >= this.capacity) throw new TableFullError(this.layout.name, this.capacity);
    put(row);
    if (this.#free.length > 0) this.#free.pop();
    return row;
  }

  /** Writes all fields of a row, whether it is in use or free. For tables with assigned rows. */
  put(row: number, values: Row<S>): void {
    this.#checkTexts(values);
    this.#write(row, () => {
      for (const field of Object.keys(this.layout.fields)) this.#store(row, field, values[field]);
      this.#setInUse(row, true);
    });
  }

  /** As `put`, but every field that is not given becomes 0 or an empty text. */
  putSparse(row: number, values: Partial<Row<S>>): void {
    this.#checkTexts(values);
    this.#write(row, () => {
      const start = this.rowOffset(row);
      this.bytes.fill(0, start + rowHeaderBytes, start + this.layout.rowBytes);
      for (const field of Object.keys(values)) this.#store(row, field, values[field]);
      this.#setInUse(row, true);
    });
  }

  /** Changes some fields of a row in use. */
  update(row: number, values: Partial<Row<S>>): void {
    this.#checkTexts(values);
    if (!this.inUse(row)) throw new RangeError(`row ${row} of the table ${this.layout.name} is free: it cannot be updated`);
    this.#write(row, () => {
      for (const field of Object.keys(values)) this.#store(row, field, values[field]);
    });
  }

  /** Frees a row. Idempotent. */
  free(row: number): void {
    if (!this.inUse(row)) return;
    this.#write(row, () => this.#setInUse(row, false));
    this.#free.push(row);
  }

  #write(row: number, change: () => void): void {
    const cell = this.versionCell(row);
    Atomics.add(this.cells, cell, 1);
    change();
    Atomics.add(this.cells, cell, 1);
  }

  /** Frees a row that a dead predecessor left half-written, and makes its version even again. */
  #empty(row: number): void {
    this.#setInUse(row, false);
    Atomics.add(this.cells, this.versionCell(row), 1);
  }

  #setInUse(row: number, inUse: boolean): void {
    const cell = this.versionCell(row) + 1;
    const wasSet = this.cells[cell] === 1;
    this.cells[cell] = inUse ? 1 : 0;
    if (wasSet !== inUse) Atomics.add(this.header, usedCell, inUse ? 1 : -1);
    if (!inUse) return;
    // Writers of different rows may raise the mark at the same time: the largest value must win.
    let high = this.highWater;
    while (row >= high) {
      Atomics.compareExchange(this.header, highWaterCell, high, row + 1);
      high = this.highWater;
    }
  }

  #checkTexts(values: Partial<Row<S>>): void {
    for (const field of Object.keys(values)) {
      const { kind, width } = this.layout.fields[field] ?? missing(this.layout.name, field);
      if (kind !== 'text') continue;
      const length = Buffer.byteLength(values[field] as string);
      if (length > width) {
        const shownValue = (values[field] as string).slice(0, 40);
        throw new RangeError(`${this.layout.name}.${field}: "${shownValue}…" has ${length} bytes, more than the ${width} that a row holds`);
      }
    }
  }

  #store(row: number, field: string, value: unknown): void {
    const offset = this.fieldOffset(row, field);
    switch (this.layout.fields[field]!.kind) {
      case 'u8':
        return this.view.setUint8(offset, value as number);
      case 'u32':
        return this.view.setUint32(offset, value as number, true);
      case 'i32':
        return this.view.setInt32(offset, value as number, true);
      case 'f64':
        return this.view.setFloat64(offset, value as number, true);
      case 'i64':
        return this.view.setBigInt64(offset, value as bigint, true);
      case 'text':
        return this.view.setUint16(offset, this.bytes.write(value as string, offset + 2, 'utf8'), true);
    }
  }
}

function missing(table: string, field: string): never {
  throw new RangeError(`the table ${table} has no field ${field}`);
}
