/** Collects samples and writes them in Prometheus' text format, sorted by metric, each with its labels. */
import { escapeLabel, formatNumber } from './render-metrics.ts';

interface Family {
  readonly head: string;
  readonly lines: string[];
}

export class MetricsText {
  readonly #families = new Map<string, Family>();

  /** @param labels the rendered pairs without braces: `pod="a",namespace="b"`. @param timestampMs 0: none */
  add(name: string, type: 'counter' | 'gauge', help: string, labels: string, value: number, timestampMs = 0): void {
    let family = this.#families.get(name);
    if (!family) this.#families.set(name, (family = { head: `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`, lines: [] }));
    const stamp = timestampMs > 0 ? ` ${Math.trunc(timestampMs)}` : '';
    family.lines.push(`${name}${labels === '' ? '' : `{${labels}}`} ${formatNumber(value)}${stamp}\n`);
  }

  toString(): string {
    return [...this.#families]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { head, lines }]) => head + lines.join(''))
      .join('');
  }
}

/** `name="value"` */
export function label(name: string, value: string): string {
  return `${name}="${escapeLabel(value)}"`;
}
