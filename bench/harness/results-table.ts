/** The tables of bench/RESULTS.md and of the README, from the JSON of every benchmark that was run on this machine. */
import type { BenchRecord, HostFacts, Measurement } from './benchmark.ts';

export function resultsMarkdown(records: readonly BenchRecord[]): string {
  const lines = [
    '# Benchmark results',
    '',
    'Written by `npm run bench`. A floor is what the same machine did in the same run without a kubelet: a bare CRI driver (`bench/driver/`).',
    'The Go kubelet is the one of the same version, built from its modules, on the same runtime and API server in the same run.',
    'No test depends on a time in here.',
    '',
  ];
  for (const record of records) lines.push(...section(record));
  return `${lines.join('\n').trimEnd()}\n`;
}

function section({ name, about, at, host, outcome }: BenchRecord): string[] {
  const machine = `${host.cores} cores (${host.cpu}), ${host.memoryGiB} GiB, ${host.os}, Linux ${host.kernel}, Node ${host.node}, kubelet ${host.kubelet}`;
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

/** Load that was there before the benchmark began, for each core. */
function isBusy({ loadBefore, cores }: HostFacts): boolean {
  return loadBefore / cores > 0.25;
}

function row({ what, value, unit, peer, floor, goal }: Measurement): string {
  const peerText = peer === undefined ? '' : amount(peer, unit);
  const floorText = floor ? `${amount(floor.value, unit)} (${floor.what})` : '';
  const goalText = goal ? `${goal.text}: ${goal.met ? 'met' : '**missed**'}` : '';
  return `| ${what} | ${amount(value, unit)} | ${peerText} | ${floorText} | ${goalText} |`;
}

const [begin, end] = ['<!-- numbers: written by npm run bench -->', '<!-- end of numbers -->'];

/** The README with its table made anew: what has a goal. Throws when it has no place for one. */
export function withNumbers(readme: string, records: readonly BenchRecord[]): string {
  const [before, rest] = readme.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the README has no lines ${begin} and ${end}`);
  const rows = records.flatMap(({ name, outcome }) =>
    'failed' in outcome ? [] : outcome.measurements.filter(({ goal }) => goal).map((measured) => `| ${name} ${row(measured)}`),
  );
  const table = ['| benchmark | measured | value | Go kubelet | floor | goal |', '|---|---|---:|---:|---|---|', ...rows];
  return `${before}${begin}\n\n${table.join('\n')}\n\n${end}${after}`;
}

/** Three digits that matter, as people write numbers. */
export function amount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const rounded = value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 0.1 && value !== 0 ? 4 : digits });
  return unit === '' ? rounded : `${rounded} ${unit}`;
}
