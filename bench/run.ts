/**
 * Runs all or the named benchmarks or groups of them, one after the other: `npm run bench [-- NAME…]`. Writes each result as JSON into bench/results/ and
 * updates the tables of bench/RESULTS.md and of the README, which keep the results of other benchmarks. When a benchmark fails, the error is
 * printed and written into the table, the others still run, and the exit code is 1.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../src/shared/errors/kubelet-error.ts';
import { Cleanups } from '../test/support/cleanups.ts';
import type { BenchContext, Benchmark, BenchRecord } from './harness/benchmark.ts';
import { hostFacts } from './harness/host-facts.ts';
import { formatAmount, renderResults, replaceReadmeNumbers } from './harness/results-table.ts';

const root = join(import.meta.dirname, '..');
const resultsFolder = join(import.meta.dirname, 'results');

/** In the order of execution and of the table. Imported on demand, so that a broken benchmark does not affect others. */
const benchmarks: Readonly<Record<string, () => Promise<{ readonly benchmark: Benchmark }>>> = {
  relist: () => import('./relist.ts'),
  'file-threads': () => import('./file-threads.ts'),
  'start-one': () => import('./start-one.ts'),
  'start-burst': () => import('./start-burst.ts'),
  restart: () => import('./restart.ts'),
  wedged: () => import('./wedged.ts'),
  'server-flood': () => import('./server-flood.ts'),
  'hung-starts': () => import('./hung-starts.ts'),
  'cluster-one': () => import('./cluster-one.ts'),
  'cluster-burst': () => import('./cluster-burst.ts'),
  'cluster-restart': () => import('./cluster-restart.ts'),
  'cluster-delete': () => import('./cluster-delete.ts'),
  resize: () => import('./resize.ts'),
  'volumes-one': () => import('./volumes-one.ts'),
  'volumes-burst': () => import('./volumes-burst.ts'),
  'volumes-restart': () => import('./volumes-restart.ts'),
  'volumes-idle': () => import('./volumes-idle.ts'),
  probes: () => import('./probes.ts'),
  liveness: () => import('./liveness.ts'),
  'log-rotation': () => import('./log-rotation.ts'),
  stats: () => import('./stats.ts'),
  storage: () => import('./storage.ts'),
  'dead-instances': () => import('./dead-instances.ts'),
  idle: () => import('./idle.ts'),
  'idle-peer': () => import('./idle-peer.ts'),
  footprint: () => import('./footprint.ts'),
};

/** Names for several benchmarks. */
const groups: Readonly<Record<string, readonly string[]>> = {
  volumes: ['volumes-one', 'volumes-burst', 'volumes-restart', 'volumes-idle'],
};

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function runOne(name: string): Promise<boolean> {
  const host = hostFacts(root);
  const at = new Date().toISOString();
  const cleanups = new Cleanups();
  const context: BenchContext = { progress: (line) => progress(`    ${line}`), onEnd: cleanups.after };
  let about = '';
  let outcome: BenchRecord['outcome'];
  progress(`==> ${name}`);
  try {
    const { benchmark } = await benchmarks[name]!();
    about = benchmark.about;
    if (benchmark.needs === 'root' && process.getuid?.() !== 0) throw new Error('needs root, to start a separate containerd');
    outcome = await benchmark.run(context);
    for (const { what, value, unit, peer, floor, goal } of outcome.measurements) {
      const comparisons = [
        peer === undefined ? '' : `Go kubelet ${formatAmount(peer, unit)}`,
        floor ? `floor ${formatAmount(floor.value, unit)}` : '',
        goal ? `goal ${goal.text}: ${goal.met ? 'met' : 'MISSED'}` : '',
      ].filter(Boolean);
      progress(`    ${what}: ${formatAmount(value, unit)}${comparisons.length > 0 ? ` (${comparisons.join('; ')})` : ''}`);
    }
  } catch (err) {
    outcome = { failed: messageOf(err) };
    progress(`    did not run: ${outcome.failed}`);
  }
  await cleanups.run().catch((err: unknown) => progress(`    cleaning up: ${messageOf(err)}`));
  const record: BenchRecord = { name, about, at, host, outcome };
  writeFileSync(join(resultsFolder, `${name}.json`), `${JSON.stringify(record, null, 2)}\n`);
  return !('failed' in outcome);
}

function writeTables(): void {
  const present = new Set(readdirSync(resultsFolder));
  const names = Object.keys(benchmarks);
  const records = names
    .filter((name) => present.has(`${name}.json`))
    .map((name) => JSON.parse(readFileSync(join(resultsFolder, `${name}.json`), 'utf8')) as BenchRecord);
  const results = join(import.meta.dirname, 'RESULTS.md');
  writeFileSync(results, renderResults(names, records, readFileSync(results, 'utf8')));
  const readme = join(root, 'README.md');
  writeFileSync(readme, replaceReadmeNumbers(names, records, readFileSync(readme, 'utf8')));
}

async function main(args: readonly string[]): Promise<number> {
  const names = args.flatMap((name) => groups[name] ?? name);
  const wrong = names.find((name) => !(name in benchmarks));
  if (wrong !== undefined) {
    progress(`no such benchmark: ${wrong}; there are ${[...Object.keys(benchmarks), ...Object.keys(groups)].join(', ')}`);
    return 2;
  }
  mkdirSync(resultsFolder, { recursive: true });
  let failed = 0;
  for (const name of names.length > 0 ? names : Object.keys(benchmarks)) {
    if (!(await runOne(name))) failed += 1;
  }
  writeTables();
  progress(failed === 0 ? '==> bench/RESULTS.md' : `==> bench/RESULTS.md; ${failed} did not run`);
  return failed === 0 ? 0 : 1;
}

process.exit(await main(process.argv.slice(2)));
