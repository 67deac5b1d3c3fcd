/**
 * How long each job takes, and how much CPU time. test/durations.json has the committed values: they order the queue and limit each file.
 * Each run measures anew; `npm run test:durations` commits what the last run measured.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry } from '../../lab/cache/user-cache.ts';

/** Wall and CPU seconds. */
export interface Duration {
  readonly wall: number;
  readonly cpu: number;
}
/** By name of the job. */
export type Durations = Readonly<Record<string, Duration>>;

const project = join(import.meta.dirname, '../..');
const committed = join(project, 'test/durations.json');
const measured = () => join(cacheEntry('durations', 'measured'), 'durations.json');

export function readDurations(): Durations {
  return read(committed);
}

/** Replaces the measurements of these jobs, and keeps those of others. */
export function recordDurations(durations: Durations): void {
  const path = measured();
  write(`${path}.${process.pid}.part`, { ...read(path), ...durations });
  renameSync(`${path}.${process.pid}.part`, path);
}

function read(path: string): Durations {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Durations;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${path} is unreadable: remove it`, { cause: err });
  }
}

/** A line for each job, sorted by name. */
function write(path: string, durations: Durations): void {
  const lines = Object.entries(durations)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { wall, cpu }]) => `  ${JSON.stringify(name)}: { "wall": ${Math.round(wall)}, "cpu": ${Math.round(cpu)} }`);
  writeFileSync(path, `{\n${lines.join(',\n')}\n}\n`);
}

/** Commits the measurements of the jobs that exist. */
export function commitMeasured(names: readonly string[]): void {
  const known = { ...read(committed), ...read(measured()) };
  write(committed, Object.fromEntries(names.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]]))));
}
