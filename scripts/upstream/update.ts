/**
 * Generates all that is taken from the modules of one version of Kubernetes: the version in src/shared/kubernetes/version.ts. Takes up to ten
 * minutes, most of them once. docs/following-upstream.md has the whole procedure.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { ensureGo } from '../../lab/programs/go-toolchain.ts';
import { fetchInventory, type Things } from './compare/inventory.ts';
import { generatedFiles } from './generated-files.ts';
import { pinKubernetes, valuesModule } from './go-modules.ts';
import { nameRelease, releaseTexts } from './release-texts.ts';
import { readStamp, stampFile, stampText } from './stamp.ts';

const project = join(import.meta.dirname, '../..');

/** Prints what has changed. Throws when a module cannot be fetched or a program cannot be built. */
export async function updateFromUpstream(): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'upstream-'));
  try {
    await pinKubernetes(kubernetesVersion, progress);
    progress('building the programs that print upstream’s values');
    await buildPrograms(work);
    const inventory = await fetchInventory(kubernetesVersion, progress);
    for (const { file, command } of generatedFiles(project)) {
      progress(file);
      const [program, kind = ''] = command;
      writeFileSync(join(project, file), program === 'inventory' ? listText(inventory[kind] ?? {}) : output(work, command));
    }
    execFileSync('node', ['scripts/generate-protocols.ts'], { cwd: project, stdio: 'inherit' });
    for (const file of releaseTexts) {
      const path = join(project, file);
      writeFileSync(path, nameRelease(readFileSync(path, 'utf8'), kubernetesVersion));
    }
    writeFileSync(join(project, stampFile), stampText(readStamp(project, kubernetesVersion)));
    const changed = execFileSync('git', ['status', '--short'], { cwd: project, encoding: 'utf8' });
    console.log(changed === '' ? `nothing differs from ${kubernetesVersion}` : `changed:\n${changed}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function progress(what: string): void {
  console.log(`==> ${what}`);
}

async function buildPrograms(folder: string): Promise<void> {
  const { command, environment } = await ensureGo(valuesModule, progress);
  // The script finds the same Go.
  const path = command.includes('/') ? `${join(command, '..')}:${process.env['PATH']}` : process.env['PATH'];
  execFileSync('sh', [join(valuesModule, 'build.sh'), folder], { env: { ...environment, PATH: path }, stdio: 'inherit' });
}

/** By name. */
function listText(things: Things): string {
  const names = Object.keys(things).toSorted();
  return `${JSON.stringify(Object.fromEntries(names.map((name) => [name, things[name]?.is])), null, 2)}\n`;
}

function output(folder: string, [program, ...args]: readonly [program: string, ...args: string[]]): Buffer {
  // The vectors have times as a host in UTC prints them, which has no variable for its zone.
  const { TZ: _, ...env } = process.env;
  return execFileSync(join(folder, program), args, { cwd: folder, env, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'inherit'] });
}
