/**
 * Generates all that is taken from the modules of one version of Kubernetes: the version in src/shared/kubernetes/version.ts. Takes up to ten
 * minutes, most of them once. docs/following-upstream.md has the whole procedure.
 *
 *   npm run upstream
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { ensureGo } from '../host/programs/go-toolchain.ts';
import { pinKubernetes, valuesModule } from './go-modules.ts';

const project = join(import.meta.dirname, '../..');
const uidVectors = 'test/integration/manifest/static-pod-uid/vectors';

/** What the programs in values/ print, by the command, and the file that it becomes. */
const outputs: readonly (readonly [command: readonly [program: string, ...args: string[]], file: string])[] = [
  [['values', 'protocol', 'cri-v1'], 'proto/cri-v1.json'],
  [['featuregates'], 'src/main/config/generated/feature-gate-table.ts'],
  [['values', 'static-pod-types'], 'src/shared/manifest/static-pod-uid/generated/go-types.ts'],
  [['values', 'static-pod-uids', join(project, uidVectors)], `${uidVectors}/expected.jsonl`],
  [['values', 'cgroups'], 'test/unit/shared/linux/cgroup-vectors.jsonl'],
  [['values', 'evictions'], 'test/unit/main/eviction/eviction-vectors.jsonl'],
  [['values', 'admission'], 'test/unit/main/pods/admission/admission-vectors.jsonl'],
];

const progress = (what: string) => console.log(`==> ${what}`);
const work = mkdtempSync(join(tmpdir(), 'upstream-'));
try {
  await pinKubernetes(kubernetesVersion, progress);
  progress('building the programs that print upstream’s values');
  const { command, environment } = await ensureGo(valuesModule, progress);
  // The script finds the same Go.
  const path = command.includes('/') ? `${join(command, '..')}:${process.env['PATH']}` : process.env['PATH'];
  execFileSync('sh', [join(valuesModule, 'build.sh'), work], { env: { ...environment, PATH: path }, stdio: 'inherit' });
  for (const [[program, ...args], file] of outputs) {
    progress(file);
    // The vectors have times as a host in UTC prints them, which has no variable for its zone.
    const { TZ: _, ...env } = process.env;
    writeFileSync(
      join(project, file),
      execFileSync(join(work, program), args, { cwd: work, env, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'inherit'] }),
    );
  }
  execFileSync('node', ['scripts/generate-protocols.ts'], { cwd: project, stdio: 'inherit' });
  const changed = execFileSync('git', ['status', '--short'], { cwd: project, encoding: 'utf8' });
  console.log(changed === '' ? `nothing differs from ${kubernetesVersion}` : `changed:\n${changed}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
