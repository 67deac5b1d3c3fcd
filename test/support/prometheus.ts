/**
 * A strict parser of Prometheus' text format (0.0.4). It throws for whatever a scraper could misread: a sample without HELP and TYPE, samples of one metric in
 * two places, a series that occurs twice, labels in another set than the metric's other series, a histogram that does not add up, names that two metrics
 * share, and values or names that are not exact.
 */
import assert from 'node:assert/strict';
import { checkHistogram } from './prometheus-histogram.ts';
import { keyOf, type NamedSample, type Sample } from './prometheus-sample.ts';

export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}
interface OpenMetric extends Metric {
  readonly name: string;
  readonly samples: NamedSample[];
}

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const number = String.raw`[+-]?(?:\d+(?:\.\d+)?(?:e[+-]\d{2,3})?|Inf)|NaN`;
const labelPair = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"`;
const sampleLine = new RegExp(`^(${metricName})(?:\\{((?:${labelPair})(?:,${labelPair})*)\\})? (${number})(?: (\\d+))?$`);
const helpLine = new RegExp(String.raw`^# HELP (${metricName}) ((?:[^\\\n]|\\[\\n])*)$`);
const typeLine = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram)$`);
/** A character that was cut in half, or replaced because it was no UTF-8. */
const brokenCharacter = /\uFFFD/;

export function parsePrometheus(page: string): Map<string, Metric> {
  assert.ok(page === '' || page.endsWith('\n'), 'the page does not end with a newline');
  assert.ok(!brokenCharacter.test(page), 'the page has a character that is not UTF-8');
  const metrics = new Map<string, OpenMetric>();
  const series = new Set<string>();
  let current: OpenMetric | undefined;
  let help: [string, string] | undefined;
  for (const line of page.split('\n').slice(0, -1)) {
    const [, helpName, helpText] = helpLine.exec(line) ?? [];
    if (helpName !== undefined) {
      assert.equal(help, undefined, `two HELP lines follow each other: ${line}`);
      help = [helpName, helpText!];
      continue;
    }
    const [, typeName, type] = typeLine.exec(line) ?? [];
    if (typeName !== undefined) {
      assert.equal(typeName, help?.[0], `TYPE without its HELP: ${line}`);
      assert.ok(!metrics.has(typeName), `the metric ${typeName} is in two places`);
      if (current) checkMetric(current);
      metrics.set(typeName, (current = { name: typeName, type: type as Metric['type'], help: help![1], samples: [] }));
      help = undefined;
      continue;
    }
    assert.ok(current && help === undefined, `a sample without TYPE: ${line}`);
    const sample = parseSample(line);
    const base = current.type === 'histogram' ? sample.name.replace(/_(?:bucket|sum|count)$/, '') : sample.name;
    assert.ok(base === current.name && (current.type !== 'histogram' || base !== sample.name), `a sample below another metric: ${line}`);
    const key = `${sample.name} ${keyOf(sample.labels)}`;
    assert.ok(!series.has(key), `a series occurs twice: ${line}`);
    series.add(key);
    current.samples.push(sample);
  }
  assert.equal(help, undefined, 'the page ends with a HELP line');
  if (current) checkMetric(current);
  checkNames(metrics);
  return new Map(
    Array.from(metrics.values(), ({ name, type, help: text, samples }) => [
      name,
      { type, help: text, samples: samples.map(({ labels, value, timestampMs }) => ({ labels, value, timestampMs })) },
    ]),
  );
}

function parseSample(line: string): NamedSample {
  const [, name = '', pairs = '', value = '', stamp] = sampleLine.exec(line) ?? assert.fail(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  for (const [, label = '', text = ''] of pairs.matchAll(/([^=,"]+)="((?:[^"\\]|\\.)*)"/g)) {
    assert.ok(!Object.hasOwn(labels, label), `a label occurs twice: ${line}`);
    assert.ok(!label.startsWith('__'), `a reserved label: ${line}`);
    labels[label] = unescape(text);
  }
  return { name, labels, value: toValue(value), timestampMs: stamp === undefined ? undefined : Number(stamp) };
}

function checkMetric({ name, type, samples }: OpenMetric): void {
  assert.ok(samples.length > 0, `the metric ${name} has no sample`);
  if (type === 'histogram') return checkHistogram(name, samples);
  const labels = (sample: Sample) => Object.keys(sample.labels).sort();
  for (const sample of samples) {
    assert.deepEqual(labels(sample), labels(samples[0]!), `other labels than before: ${name} ${JSON.stringify(sample.labels)}`);
    assert.ok(type === 'gauge' || sample.value >= 0, `a counter below zero, or without a value: ${name} ${sample.value}`);
    assert.ok(!('le' in sample.labels), `only histograms have the label le: ${name}`);
  }
}

/** A reader of a histogram's parts must not find another metric. */
function checkNames(metrics: ReadonlyMap<string, Metric>): void {
  for (const [name, { type }] of metrics) {
    if (type !== 'histogram') continue;
    for (const suffix of ['_bucket', '_sum', '_count']) assert.ok(!metrics.has(name + suffix), `${name + suffix} is a part of ${name}`);
  }
}

function toValue(text: string): number {
  return text.endsWith('Inf') ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text);
}
function unescape(text: string): string {
  return text.replaceAll(/\\([\\n"])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
}
