/**
 * A table of typed rows in a SharedArrayBuffer: one thread writes, many threads read, without messages. Each row has a version (a seqlock), which is odd
 * during a write; a reader repeats a read that a write overlapped.
 *
 *  - One writer per row. Most tables have one writer for all rows, some (heartbeats) one for each row.
 *  - The number of rows is fixed at creation. Inserting into a full table throws an error with the table's name.
 *  - A writer that dies during a write leaves an odd version. Its successor empties that row when it opens the table.
 */
import { layoutOf, rowHeaderBytes, type Fields, type Layout, type Row } from './table-layout.ts';
import { headerBytes, headerCell, headerCells, TableReader } from './table-reader.ts';

export { TableReader } from './table-reader.ts';

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
      header[headerCell.capacity] = capacity;
      Atomics.store(header, headerCell.fingerprint, layout.fingerprint);
      return buffer;
    },
    reader: (buffer, byteOffset = 0) => new TableReader(layout, buffer, byteOffset),
    writer: (buffer, byteOffset = 0, ownRows) => new TableWriter(layout, buffer, byteOffset, ownRows),
  };
}

export class TableWriter<S extends Fields> extends TableReader<S> {
  /** Free rows below the high-water mark. The next one to use is the last. */
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
    if (!ownRows) Atomics.store(this.header, headerCell.used, end - this.#free.length);
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
    if (wasSet !== inUse) Atomics.add(this.header, headerCell.used, inUse ? 1 : -1);
    if (!inUse) return;
    // Writers of different rows may raise the mark at the same time: the largest value must win.
    let high = this.highWater;
    while (row >= high) {
      Atomics.compareExchange(this.header, headerCell.highWater, high, row + 1);
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
