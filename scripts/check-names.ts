/** Checks that a name and a rule of Kubernetes have one place in `src`, that an index.ts is a door or the entry of a thread, and that live settings are not copied. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkExports } from './names/check-exports.ts';
import { checkLiterals } from './names/check-literals.ts';
import { checkLiveView } from './names/check-live-view.ts';
import { ownedLiterals } from './names/owned-literals.ts';
import { sharedNames } from './names/shared-names.ts';

const root = join(import.meta.dirname, '..');
const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.includes('/generated/'));
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const problems = [...checkExports(sources, sharedNames), ...checkLiterals(sources, ownedLiterals), ...checkLiveView(sources)];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
