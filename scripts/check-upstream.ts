/** Checks that what is taken from Kubernetes' modules was generated for this version, and that texts name it: docs/following-upstream.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubernetesVersion } from '../src/shared/kubernetes/version.ts';
import { nameRelease, releaseTexts } from './upstream/release-texts.ts';
import { findStale, readStamp, stampFile, type Stamp } from './upstream/stamp.ts';

const project = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(project, file), 'utf8');

const problems = [
  ...findStale(JSON.parse(read(stampFile)) as Stamp, readStamp(project, kubernetesVersion)),
  ...releaseTexts
    .filter((file) => nameRelease(read(file), kubernetesVersion) !== read(file))
    .map((file) => `${file} names another release than ${kubernetesVersion}: run "npm run upstream" and commit the result`),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
