/**
 * One thread's metrics in shared memory: a directory of series that only grows, and the cells that they count in. One writer; it
 * publishes an entry by moving the directory's end, so that readers see whole entries only. A segment outlives its thread: the
 * successor reads the directory and counts on; only the gauges, which told of the dead thread's present, begin anew.
 *
 * A cell is a double, written without a lock: one aligned store, which the 64-bit hosts that we run on don't tear.
 */
import type { MetricDefinition } from './metrics.ts';

/** Bytes; pages that were never written cost nothing. Room for about 1,500 series of one cell, or 900 histograms. */
const directoryBytes = 160 * 1024;
const cellCount = 12 * 1024;
const headerBytes = 64;
const [magicCell, endCell, cellsCell, droppedCell] = [0, 1, 2, 3];
const magic = 0x6d747273;
/** Longer label values are cut: they come from outside, at times. */
const maxLabelLength = 256;

const kinds = ['counter', 'gauge', 'histogram'] as const;

export interface Series {
  readonly name: string;
  readonly type: MetricDefinition['type'];
  readonly labelValues: readonly string[];
  /** The first of its cells. */
  readonly cell: number;
  readonly cells: number;
}

export function createMetricsSegment(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(headerBytes + directoryBytes + cellCount * Float64Array.BYTES_PER_ELEMENT);
  Atomics.store(new Int32Array(buffer, 0, 4), magicCell, magic);
  return buffer;
}

export class SegmentReader {
  readonly cells: Float64Array;
  protected readonly header: Int32Array;
  protected readonly directory: Buffer;

  constructor(buffer: SharedArrayBuffer) {
    this.header = new Int32Array(buffer, 0, headerBytes / 4);
    if (Atomics.load(this.header, magicCell) !== magic) throw new Error('the shared buffer is no metrics segment');
    this.directory = Buffer.from(buffer, headerBytes, directoryBytes);
    this.cells = new Float64Array(buffer, headerBytes + directoryBytes, cellCount);
  }

  /** Series that found no room. */
  get dropped(): number {
    return Atomics.load(this.header, droppedCell);
  }

  /** Every series published from `offset` on: [the entry, the offset behind it]. */
  *series(offset = 0): Generator<[Series, number]> {
    const end = Atomics.load(this.header, endCell);
    let at = offset;
    while (at < end) {
      const bytes = this.directory.readUInt16LE(at);
      const entry = this.directory.toString('utf8', at + 12, at + bytes).split('\n');
      const [name = '', ...labelValues] = entry;
      const type = kinds[this.directory.readUInt16LE(at + 2)] ?? 'counter';
      at += bytes;
      const cell = this.directory.readUInt32LE(at - bytes + 4);
      const cells = this.directory.readUInt32LE(at - bytes + 8);
      yield [{ name, type, labelValues: labelValues.map(unescape), cell, cells }, at];
    }
  }
}

export class SegmentWriter extends SegmentReader {
  readonly #known = new Map<string, Series>();

  /** Opens a segment, new or a predecessor's. */
  constructor(buffer: SharedArrayBuffer) {
    super(buffer);
    for (const [series] of this.series()) {
      this.#known.set(keyOf(series.name, series.labelValues), series);
      if (series.type === 'gauge') this.cells.fill(NaN, series.cell, series.cell + series.cells);
    }
  }

  /** The first cell of a series, made when it is new; −1 when there is no room for it, or it was made with another shape. */
  open({ name, type, buckets }: MetricDefinition, labelValues: readonly string[]): number {
    const values = labelValues.map((value) => value.slice(0, maxLabelLength));
    const key = keyOf(name, values);
    const cells = type === 'histogram' ? buckets.length + 2 : 1;
    const known = this.#known.get(key);
    if (known) return known.cells === cells && known.type === type ? known.cell : -1;
    const series = this.#append({ name, type, labelValues: values, cell: Atomics.load(this.header, cellsCell), cells });
    if (!series) {
      Atomics.add(this.header, droppedCell, 1);
      return -1;
    }
    this.#known.set(key, series);
    return series.cell;
  }

  #append(series: Series): Series | undefined {
    const text = [series.name, ...series.labelValues.map(escape)].join('\n');
    const offset = Atomics.load(this.header, endCell);
    const bytes = 12 + Buffer.byteLength(text);
    if (bytes > 0xffff || offset + bytes > directoryBytes || series.cell + series.cells > cellCount) return undefined;
    this.directory.writeUInt16LE(bytes, offset);
    this.directory.writeUInt16LE(kinds.indexOf(series.type), offset + 2);
    this.directory.writeUInt32LE(series.cell, offset + 4);
    this.directory.writeUInt32LE(series.cells, offset + 8);
    this.directory.write(text, offset + 12, 'utf8');
    // A thread that dies between the two leaves cells unused, and no entry half made.
    Atomics.store(this.header, cellsCell, series.cell + series.cells);
    Atomics.store(this.header, endCell, offset + bytes);
    return series;
  }
}

function keyOf(name: string, labelValues: readonly string[]): string {
  return labelValues.length === 0 ? name : `${name}\n${labelValues.map(escape).join('\n')}`;
}

/** A label value may hold a line feed, which parts the values in the directory. */
function escape(value: string): string {
  return /[\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n') : value;
}
function unescape(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
