/**
 * A strict parser of Prometheus' text format (0.0.4). It throws for whatever a scraper could misread: a sample without HELP and TYPE, samples of one metric in
 * two places, a series that occurs twice, labels in another set than the metric's other series, and values or names that are not exact.
 */
import assert from 'node:assert/strict';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestampMs: number | undefined;
}
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const number = String.raw`[+-]?(?:\d+(?:\.\d+)?(?:e[+-]\d{2,3})?|Inf)|NaN`;
const labelPair = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"`;
const sampleLine = new RegExp(`^(${metricName})(?:\\{((?:${labelPair})(?:,${labelPair})*)\\})? (${number})(?: (\\d+))?$`);

export function parsePrometheus(page: string): Map<string, Metric> {
  assert.ok(page === '' || page.endsWith('\n'), 'the page does not end with a newline');
  const metrics = new Map<string, Metric & { samples: Sample[] }>();
  const series = new Set<string>();
  let current: (Metric & { samples: Sample[] }) | undefined;
  let currentName = '';
  let help: [string, string] | undefined;
  for (const line of page.split('\n').slice(0, -1)) {
    const [, helpName, helpText] = new RegExp(`^# HELP (${metricName}) (.*)$`).exec(line) ?? [];
    if (helpName !== undefined) {
      assert.equal(help, undefined, `two HELP lines follow each other: ${line}`);
      help = [helpName, helpText!];
      continue;
    }
    const [, typeName, type] = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram)$`).exec(line) ?? [];
    if (typeName !== undefined) {
      assert.equal(typeName, help?.[0], `TYPE without its HELP: ${line}`);
      assert.ok(!metrics.has(typeName), `the metric ${typeName} is in two places`);
      assert.ok(current === undefined || current.samples.length > 0, `the metric ${currentName} has no sample`);
      currentName = typeName;
      metrics.set(typeName, (current = { type: type as Metric['type'], help: help![1], samples: [] }));
      help = undefined;
      continue;
    }
    const [, name, pairs = '', value, stamp] = sampleLine.exec(line) ?? assert.fail(`not a sample: ${line}`);
    assert.ok(current && help === undefined, `a sample without TYPE: ${line}`);
    const base = current.type === 'histogram' ? name!.replace(/_(?:bucket|sum|count)$/, '') : name!;
    assert.equal(base, currentName, `a sample below another metric: ${line}`);
    const labels = Object.fromEntries(
      Array.from(pairs.matchAll(/([^=,]+)="((?:[^"\\]|\\.)*)"/g), ([, key, text]) => [key, unescape(text!)]),
    );
    const key = `${name} ${Object.keys(labels)
      .sort()
      .map((each) => [each, labels[each]])
      .join()}`;
    assert.ok(!series.has(key), `a series occurs twice: ${line}`);
    series.add(key);
    if (current.type !== 'histogram' && current.samples.length > 0) {
      assert.deepEqual(Object.keys(labels).sort(), Object.keys(current.samples[0]!.labels).sort(), `other labels than before: ${line}`);
    }
    if (current.type === 'counter') assert.ok(!(Number(value) < 0), `a counter below zero: ${line}`);
    current.samples.push({ labels, value: toValue(value!), timestampMs: stamp === undefined ? undefined : Number(stamp) });
  }
  return metrics;
}

function toValue(text: string): number {
  return text.endsWith('Inf') ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text);
}
function unescape(text: string): string {
  return text.replaceAll(/\\([\\n"])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
}
