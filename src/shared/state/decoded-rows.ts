/** A cache of a table's decoded rows, for readers that read the whole table again and again: a row is decoded only after it has changed. */
import type { Fields, Row } from './table-layout.ts';
import type { TableReader } from './table-reader.ts';

export interface DecodedRow<T> {
  /** The row's version before it was read. If the row was written meanwhile, the next call decodes it again. */
  readonly version: number;
  readonly value: T;
}

export class DecodedRows<S extends Fields, T> {
  readonly #table: TableReader<S>;
  readonly #decode: (row: Row<S>) => T;
  readonly #rows: (DecodedRow<T> | undefined)[] = [];

  constructor(table: TableReader<S>, decode: (row: Row<S>) => T) {
    this.#table = table;
    this.#decode = decode;
  }

  /** Undefined as in `TableReader.read`. */
  get(row: number): DecodedRow<T> | undefined {
    const version = this.#table.version(row);
    const known = this.#rows[row];
    if (known?.version === version) return known;
    const values = this.#table.read(row);
    return (this.#rows[row] = values && { version, value: this.#decode(values) });
  }
}
