/** Encodes families in a negotiated format. */
import type { MetricFamily } from './metric-family.ts';
import type { MetricsFormat } from './negotiate.ts';
import { encodeProtobuf } from './protobuf.ts';
import { encodeText } from './text.ts';

export function encodeFamilies(families: Iterable<MetricFamily>, format: MetricsFormat): Generator<string | Uint8Array> {
  return format === 'text' ? encodeText(families) : encodeProtobuf(families, format === 'nativeProtobuf');
}

/** Joins the pieces of a page. The result is alone in its buffer, so that it can be transferred to another thread. */
export function toBytes(pieces: Iterable<string | Uint8Array>): Uint8Array<ArrayBuffer> {
  const all = [...pieces].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
  const bytes = new Uint8Array(all.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of all) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}
