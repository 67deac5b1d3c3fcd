/**
 * One thread's metrics in shared memory: a header, a directory of series, which only grows, the cells with the values of the series, and the native buckets
 * of histograms. A segment has one writer. The writer publishes an entry by moving the directory's end, so that readers see complete entries only. A segment
 * outlives its thread: the successor reads the directory and continues the counters. It hides the gauges until it sets them, because their values described
 * the dead thread.
 *
 * A cell is a double, written without a lock: an aligned store of 8 bytes is atomic on 64-bit hosts.
 */
import type { MetricDefinition } from './metrics.ts';
import { NativeTable, nativeTableBytes } from './native/native-table.ts';

/** Enough for about 1,500 series of one cell, or 900 histograms. Pages that are never written take no memory. */
const directoryBytes = 192 * 1024;
const cellCount = 12 * 1024;
/** Tables of native buckets. When they are used up, new histograms have only classic buckets. */
const nativeTableCount = 512;
/** A multiple of 8, so that the doubles of the cells and the native tables are aligned. */
const headerBytes = 64;
/**
 * Indices of the header's 32-bit cells: the magic number, the end of the directory in bytes, the number of used cells, the number of dropped series, and the
 * number of used native tables.
 */
const [magicCell, endCell, cellsCell, droppedCell, nativeTablesCell] = [0, 1, 2, 3, 4];
/** An entry of the directory: its length (u16), kind (u16), first cell, number of cells, native table (u32 each), creation time (f64), then the texts. */
const entryHeaderBytes = 24;
const cellsOffset = headerBytes + directoryBytes;
const nativeTablesOffset = cellsOffset + cellCount * Float64Array.BYTES_PER_ELEMENT;
/** `mtrs` in ASCII. Detects a buffer that is not a segment. */
const magic = 0x6d747273;
/** Longer label values are truncated: some come from clients. */
const maxLabelLength = 256;

/** Types of metrics by their number in an entry. */
const kinds = ['counter', 'gauge', 'histogram'] as const;

export interface Series {
  readonly name: string;
  readonly type: MetricDefinition['type'];
  readonly labelValues: readonly string[];
  /** The index of the first cell. */
  readonly cell: number;
  /** The number of cells. */
  readonly cells: number;
  /** Wall-clock ms of the series' creation. */
  readonly createdAtMs: number;
  /** The index of a histogram's table of native buckets. Undefined: no such table, or not a histogram. An entry has this index plus 1, or 0 for none. */
  readonly nativeTable?: number | undefined;
}

export function createMetricsSegment(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(nativeTablesOffset + nativeTableCount * nativeTableBytes);
  Atomics.store(headerOf(buffer), magicCell, magic);
  return buffer;
}

function headerOf(buffer: SharedArrayBuffer): Int32Array {
  return new Int32Array(buffer, 0, headerBytes / Int32Array.BYTES_PER_ELEMENT);
}

export class SegmentReader {
  readonly cells: Float64Array;
  protected readonly header: Int32Array;
  protected readonly directory: Buffer;
  readonly #buffer: SharedArrayBuffer;

  constructor(buffer: SharedArrayBuffer) {
    this.header = headerOf(buffer);
    if (Atomics.load(this.header, magicCell) !== magic) throw new Error('the shared buffer is no metrics segment');
    this.#buffer = buffer;
    this.directory = Buffer.from(buffer, headerBytes, directoryBytes);
    this.cells = new Float64Array(buffer, cellsOffset, cellCount);
  }

  /** The number of series that did not fit. */
  get dropped(): number {
    return Atomics.load(this.header, droppedCell);
  }

  nativeTable(index: number): NativeTable {
    return new NativeTable(this.#buffer, nativeTablesOffset + index * nativeTableBytes);
  }

  /** Yields every series from `offset` on, with the offset of the next one. */
  *series(offset = 0): Generator<[Series, number]> {
    const end = Atomics.load(this.header, endCell);
    let entryOffset = offset;
    while (entryOffset < end) {
      const bytes = this.directory.readUInt16LE(entryOffset);
      const entry = this.directory.toString('utf8', entryOffset + entryHeaderBytes, entryOffset + bytes).split('\n');
      const [name = '', ...labelValues] = entry;
      const type = kinds[this.directory.readUInt16LE(entryOffset + 2)] ?? 'counter';
      const cell = this.directory.readUInt32LE(entryOffset + 4);
      const cells = this.directory.readUInt32LE(entryOffset + 8);
      const table = this.directory.readUInt32LE(entryOffset + 12);
      const createdAtMs = this.directory.readDoubleLE(entryOffset + 16);
      entryOffset += bytes;
      const nativeTable = table === 0 ? undefined : table - 1;
      yield [{ name, type, labelValues: labelValues.map(unescape), cell, cells, createdAtMs, nativeTable }, entryOffset];
    }
  }
}

export class SegmentWriter extends SegmentReader {
  readonly #known = new Map<string, Series>();

  /** Opens a new segment, or that of a predecessor. */
  constructor(buffer: SharedArrayBuffer) {
    super(buffer);
    for (const [series] of this.series()) {
      this.#known.set(keyOf(series.name, series.labelValues), series);
      if (series.type === 'gauge') this.cells.fill(NaN, series.cell, series.cell + series.cells);
    }
  }

  /** Returns a series, and creates it if necessary. Undefined when it does not fit, or exists with another type or size. */
  open({ name, type, buckets }: MetricDefinition, labelValues: readonly string[]): Series | undefined {
    const values = labelValues.map(truncate);
    const key = keyOf(name, values);
    // A histogram has its sum, a count for each bucket, and the count above the last bucket.
    const cells = type === 'histogram' ? buckets.length + 2 : 1;
    const existing = this.#known.get(key);
    if (existing) return existing.cells === cells && existing.type === type ? existing : undefined;
    const usedTables = Atomics.load(this.header, nativeTablesCell);
    const nativeTable = type === 'histogram' && usedTables < nativeTableCount ? usedTables : undefined;
    const cell = Atomics.load(this.header, cellsCell);
    const series = this.#append({ name, type, labelValues: values, cell, cells, createdAtMs: Date.now(), nativeTable });
    if (!series) {
      Atomics.add(this.header, droppedCell, 1);
      return undefined;
    }
    this.#known.set(key, series);
    return series;
  }

  #append(series: Series): Series | undefined {
    const text = [series.name, ...series.labelValues.map(escape)].join('\n');
    const offset = Atomics.load(this.header, endCell);
    const bytes = entryHeaderBytes + Buffer.byteLength(text);
    if (bytes > 0xffff || offset + bytes > directoryBytes || series.cell + series.cells > cellCount) return undefined;
    this.directory.writeUInt16LE(bytes, offset);
    this.directory.writeUInt16LE(kinds.indexOf(series.type), offset + 2);
    this.directory.writeUInt32LE(series.cell, offset + 4);
    this.directory.writeUInt32LE(series.cells, offset + 8);
    this.directory.writeUInt32LE(series.nativeTable === undefined ? 0 : series.nativeTable + 1, offset + 12);
    this.directory.writeDoubleLE(series.createdAtMs, offset + 16);
    this.directory.write(text, offset + entryHeaderBytes, 'utf8');
    // A thread that dies between these stores leaves unused cells, but no incomplete entry.
    if (series.nativeTable !== undefined) Atomics.store(this.header, nativeTablesCell, series.nativeTable + 1);
    Atomics.store(this.header, cellsCell, series.cell + series.cells);
    Atomics.store(this.header, endCell, offset + bytes);
    return series;
  }
}

/** Shortens a label value, without cutting a character of two code units in half. */
function truncate(value: string): string {
  if (value.length <= maxLabelLength) return value;
  const start = value.slice(0, maxLabelLength);
  return start.isWellFormed() ? start : start.slice(0, -1);
}

function keyOf(name: string, labelValues: readonly string[]): string {
  return labelValues.length === 0 ? name : `${name}\n${labelValues.map(escape).join('\n')}`;
}

/** Escapes line feeds, which separate the values in the directory. */
function escape(value: string): string {
  return /[\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n') : value;
}
function unescape(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
