/**
 * Builds the programs of a real cluster, or the given ones, in one go:
 *
 *   node lab/programs/build.ts [PROGRAM...]
 *
 * The first build of all takes 9 minutes of one CPU and 2 GB of Go's caches. An interrupted build continues where it stopped. A program is in
 * the cache as soon as it is linked, those of the control plane first.
 */
import { allPrograms, ensurePrograms, type Program } from './cluster-programs.ts';

const given = process.argv.slice(2);
const isProgram = (name: string): name is Program => (allPrograms as readonly string[]).includes(name);
try {
  const unknown = given.find((name) => !isProgram(name));
  if (unknown !== undefined) throw new Error(`unknown program: ${unknown}; known: ${allPrograms.join(', ')}`);
  await ensurePrograms(given.length > 0 ? given.filter(isProgram) : allPrograms, (what) => console.log(`==> ${what}`));
} catch (err) {
  console.error(err instanceof Error ? err.message : String(err));
  process.exitCode = 1;
}
