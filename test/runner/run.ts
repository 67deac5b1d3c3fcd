/**
 * Runs tests with the builds that they need (`npm test` and `npm run test:…` call it through scripts/test.sh):
 *
 *   node test/runner/run.ts                             all parts
 *   node test/runner/run.ts integration e2e             these parts: check, unit, integration, e2e, guest
 *   node test/runner/run.ts test/e2e/streams.test.ts    these files; parts are ignored
 *
 * KUBELET_TEST_LANES sets the number of lanes. Default: three, and a fourth while the host's CPUs are not under pressure.
 * KUBELET_TEST_SKIP names parts to skip where they cannot run. Exits with 1 when a job failed twice, ran no test, or skipped one.
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { removeAccounts } from './cpu-account.ts';
import { readDurations, recordDurations } from './durations.ts';
import { parseCpuTimes, readCpuTimes } from './host-load.ts';
import { jobName, jobOfFile, jobOfPart, partOf, parts, type Part, type TestJob } from './jobs.ts';
import { needsOf } from './needs.ts';
import { deleteStaleNamespaces } from './network-namespace.ts';
import { hasPassed, reportLines } from './report.ts';
import { runTests } from './run-tests.ts';

const project = join(import.meta.dirname, '../..');
const repeatWithinSeconds = 3600;

const durations = readDurations();
const { KUBELET_TEST_LANES: lanes, KUBELET_TEST_SKIP: skip = '', KUBELET_TEST_STARTED: started } = process.env;

function jobsOf(args: readonly string[]): TestJob[] {
  const unknown = args.filter((arg) => !parts.includes(arg as Part) && !arg.endsWith('.ts'));
  if (unknown.length > 0) throw new Error(`neither a part (${parts.join(', ')}) nor a test file: ${unknown.join(', ')}`);
  const files = args.filter((arg) => arg.endsWith('.ts')).map((file) => relative(project, resolve(project, file)));
  if (files.length > 0) return files.map((file) => fileJob(file));
  const skipped = new Set(skip.split(','));
  for (const part of parts) if (skipped.has(part)) console.log(`==> ${part}: skipped (KUBELET_TEST_SKIP)`);
  return parts
    .filter((part) => (args.length === 0 || args.includes(part)) && !skipped.has(part))
    .flatMap((part) =>
      part === 'check' || part === 'unit'
        ? [jobOfPart(part, durations[part]?.wall)]
        : globSync(`test/${part}/**/*.test.ts`, { cwd: project }).map((file) => fileJob(file)),
    );
}

function fileJob(file: string): TestJob {
  const part = partOf(file);
  if (part === undefined) throw new Error(`${file} is in no folder of tests that run in lanes: run it with node --test`);
  return jobOfFile(file, part, needsOf(file, part, project), durations[jobName(file)]?.wall);
}

/** scripts/test.sh passes the host's CPU times at its own start. */
const [uptime, stat] = started?.split(';') ?? [];
const before = uptime === undefined || stat === undefined ? readCpuTimes() : parseCpuTimes(uptime, stat);
const repeatUntilMs = performance.now() + 1000 * (repeatWithinSeconds - (readCpuTimes().atSeconds - before.atSeconds));

deleteStaleNamespaces();
removeAccounts();
process.chdir(project);
const jobs = jobsOf(process.argv.slice(2));
const given = Math.max(0, Math.floor(Number(lanes ?? 0))) || undefined;
const most = Math.min(given ?? 4, Math.max(1, jobs.length));
const result = await runTests({ jobs, lanes: { always: Math.min(given ?? 3, most), most }, repeatUntilMs });
removeAccounts();
const passed = [...result.results].filter(([, { ok, cpuSeconds }]) => ok && cpuSeconds !== undefined);
recordDurations(Object.fromEntries(passed.map(([{ name }, { seconds, cpuSeconds = 0 }]) => [name, { wall: seconds, cpu: cpuSeconds }])));
for (const line of reportLines(result, durations, { before, after: readCpuTimes(), cpus: availableParallelism() })) console.log(line);
process.exitCode = hasPassed(result) ? 0 : 1;
