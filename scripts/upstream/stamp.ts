/**
 * The stamp of the last run of `npm run upstream`: the version that files were generated for, and checksums of the files and of what generates
 * them. So a stale file is found without Go.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles, generatorSources } from './generated-files.ts';

/** Relative to the project. */
export const stampFile = 'scripts/upstream/generated.json';

export interface Stamp {
  /** `v1.37.2` */
  readonly version: string;
  /** SHA-256 of all sources of the generators. */
  readonly generators: string;
  /** SHA-256 by file, relative to the project. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns what the stamp would be now. A missing file has the checksum ''. */
export function readStamp(project: string, version: string): Stamp {
  const sources = globSync([...generatorSources], { cwd: project }).filter((file) => statSync(join(project, file)).isFile());
  const generators = createHash('sha256');
  for (const file of sources.toSorted()) generators.update(`${file}\0${sha256(join(project, file))}\0`);
  const files = generatedFiles(project).map(({ file }) => [file, sha256(join(project, file))] as const);
  return { version, generators: generators.digest('hex'), files: Object.fromEntries(files) };
}

export function stampText(stamp: Stamp): string {
  return `${JSON.stringify(stamp, null, 2)}\n`;
}

/** Returns one line for each difference between the committed stamp and the files. Pure. */
export function findStale(committed: Stamp, now: Stamp): string[] {
  const advice = 'run "npm run upstream" and commit the result';
  if (committed.version !== now.version) {
    return [`the inputs from Kubernetes were generated for ${committed.version}, and version.ts names ${now.version}: ${advice}`];
  }
  if (committed.generators !== now.generators)
    return [`a program of scripts/upstream or its input has changed since its last run: ${advice}`];
  const names = new Set([...Object.keys(committed.files), ...Object.keys(now.files)]);
  return [...names].flatMap((file) => {
    const [before, after] = [committed.files[file], now.files[file]];
    if (before === undefined) return [`${file} was not generated yet: ${advice}`];
    if (after === undefined) return [`${file} is generated no longer: ${advice}`];
    return before === after ? [] : [`${file} was changed after it was generated: ${advice}`];
  });
}

function sha256(path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw err;
  }
}
