/** Prometheus' text format, version 0.0.4. */
import { escapeHelp } from './escape.ts';
import type { HistogramValue, MetricFamily, Sample } from './metric-family.ts';

/** A piece of this many lines has about 60 KB, and takes half a millisecond. */
const linesPerPiece = 200;

/** Yields the page in pieces: a node of 500 pods has 30 MB. A family without samples has no head. */
export function* encodeText(families: Iterable<MetricFamily>): Generator<string> {
  for (const { name, help, type, samples } of families) {
    let text = '';
    let lines = 0;
    for (const sample of samples) {
      if (lines === 0) text = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
      text += linesOf(name, sample);
      lines += 1;
      if (lines % linesPerPiece !== 0) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  }
}

export function textOf(families: Iterable<MetricFamily>): string {
  return [...encodeText(families)].join('');
}

function linesOf(name: string, { labels, value, timestampMs }: Sample): string {
  if (typeof value !== 'number') return histogramLines(name, labels.text, value);
  const stamp = timestampMs === undefined ? '' : ` ${stampOf(timestampMs)}`;
  const pairs = labels.text;
  return pairs === '' ? `${name} ${formatNumber(value)}${stamp}\n` : `${name}{${pairs}} ${formatNumber(value)}${stamp}\n`;
}

/** Rendered timestamps: dozens of samples of a cgroup have the same time, which takes longer to format than the rest of their line. */
const stamps = new Map<number, string>();
/** Bounds the memory: later pages have other timestamps. */
const maxStamps = 4096;

function stampOf(timestampMs: number): string {
  let stamp = stamps.get(timestampMs);
  if (stamp !== undefined) return stamp;
  if (stamps.size >= maxStamps) stamps.clear();
  stamps.set(timestampMs, (stamp = String(Math.trunc(timestampMs))));
  return stamp;
}

function histogramLines(name: string, pairs: string, { sum, bounds, counts }: HistogramValue): string {
  const before = pairs === '' ? '' : `${pairs},`;
  let text = '';
  let count = 0;
  for (let i = 0; i <= bounds.length; i += 1) {
    count += counts[i]!;
    text += line(`${name}_bucket`, `${before}le="${formatNumber(bounds[i] ?? Infinity)}"`, formatNumber(count));
  }
  return `${text}${line(`${name}_sum`, pairs, formatNumber(sum))}${line(`${name}_count`, pairs, formatNumber(count))}`;
}

function line(name: string, pairs: string, value: string): string {
  return `${name}${pairs === '' ? '' : `{${pairs}}`} ${value}\n`;
}

/** The format of Go's strconv with `g` and the fewest digits (`1e+06`, `0.005`), as other exporters use it. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const text = value.toExponential();
  // Go writes at least two digits of the exponent.
  return text.at(-3) === 'e' ? `${text.slice(0, -1)}0${text.at(-1)}` : text;
}
