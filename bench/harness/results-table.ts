/**
 * Renders the tables of bench/RESULTS.md and of the README from the JSON of the benchmarks that were run in this checkout. The results of
 * other benchmarks are kept.
 */
import type { BenchRecord, HostFacts, Measurement } from './benchmark.ts';

/** @param names of all benchmarks, in the order of the table @param previous the current file */
export function renderResults(names: readonly string[], records: readonly BenchRecord[], previous: string): string {
  const lines = [
    '# Benchmark results',
    '',
    'Written by `npm run bench`. A floor is what the same machine did in the same run without a kubelet: a bare CRI driver (`bench/driver/`).',
    'The Go kubelet is the one of the version that a section names (v1.36.3 where it names none), built from its modules, on the same runtime and API server in',
    'the same run.',
    'No test depends on a time in here.',
    '',
  ];
  const sections = new Map(
    previous
      .split(/^(?=## )/m)
      .slice(1)
      .map((text) => [text.slice('## '.length, text.indexOf('\n')), text.trimEnd()]),
  );
  for (const name of names) {
    const record = records.find((one) => one.name === name);
    if (record) lines.push(...section(record));
    else if (sections.has(name)) lines.push(sections.get(name)!, '');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

function section({ name, about, at, host, outcome }: BenchRecord): string[] {
  const machine = `${host.cores} cores (${host.cpu}), ${host.memoryGiB} GiB, ${host.os}, Linux ${host.kernel}, Kubernetes ${host.kubernetes}, Node ${host.node}, kubelet ${host.kubelet}`;
  const head = [`## ${name}`, '', about, ''];
  const measuredAt = `${at.slice(0, 16).replace('T', ' ')} UTC on ${machine}; load before: ${host.loadBefore}.`;
  if ('failed' in outcome)
    return [...head, `**Did not run**, ${measuredAt}`, '', ...outcome.failed.split('\n').map((line) => `    ${line}`), ''];
  return [
    ...head,
    `${outcome.repeats}; ${measuredAt}${isBusy(host) ? ' **Others were at work on this machine: times are too long.**' : ''}`,
    '',
    '| measured | value | Go kubelet | floor | goal |',
    '|---|---:|---:|---|---|',
    ...outcome.measurements.map(row),
    '',
  ];
}

/** Compares the load per core before the benchmark with a limit. */
function isBusy({ loadBefore, cores }: HostFacts): boolean {
  return loadBefore / cores > 0.25;
}

function row({ what, value, unit, peer, floor, goal }: Measurement): string {
  const peerText = peer === undefined ? '' : formatAmount(peer, unit);
  const floorText = floor ? `${formatAmount(floor.value, unit)} (${floor.what})` : '';
  const goalText = goal ? `${goal.text}: ${goal.met ? 'met' : '**missed**'}` : '';
  return `| ${what} | ${formatAmount(value, unit)} | ${peerText} | ${floorText} | ${goalText} |`;
}

const [begin, end] = ['<!-- numbers: written by npm run bench -->', '<!-- end of numbers -->'];

/** Replaces the README's table, which has the rows with a goal. Throws when the README lacks the markers. */
export function replaceReadmeNumbers(names: readonly string[], records: readonly BenchRecord[], readme: string): string {
  const [before, rest] = readme.split(begin);
  const [shown, after] = rest?.split(end) ?? [];
  if (before === undefined || shown === undefined || after === undefined) throw new Error(`the README has no lines ${begin} and ${end}`);
  const rows = names.flatMap((name) => {
    const record = records.find((one) => one.name === name);
    return record ? rowsWithGoals(record) : shown.split('\n').filter((line) => line.startsWith(`| ${name} |`));
  });
  const table = ['| benchmark | measured | value | Go kubelet | floor | goal |', '|---|---|---:|---:|---|---|', ...rows];
  return `${before}${begin}\n\n${table.join('\n')}\n\n${end}${after}`;
}

function rowsWithGoals({ name, outcome }: BenchRecord): string[] {
  return 'failed' in outcome ? [] : outcome.measurements.filter(({ goal }) => goal).map((measured) => `| ${name} ${row(measured)}`);
}

/** Rounds to three significant digits. */
export function formatAmount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const rounded = value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 0.1 && value !== 0 ? 4 : digits });
  return unit === '' ? rounded : `${rounded} ${unit}`;
}
