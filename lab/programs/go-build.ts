/** Builds programs of one Go module in one invocation, which compiles packages while it links programs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureGo, type Go } from './go-toolchain.ts';

export interface GoBuild {
  /** The folder with the go.mod that pins the programs. */
  readonly module: string;
  /** Import paths by the names of the built files. The first are built first. */
  readonly programs: Readonly<Record<string, string>>;
  /** Of the built files. */
  readonly folder: string;
  /** Default: build. With test, each is the test of its package. */
  readonly command?: 'build' | 'test';
  readonly tags?: readonly string[];
  /** Variables of the programs, such as their version. */
  readonly variables: Readonly<Record<string, string>>;
  readonly progress: (what: string) => void;
}

const publishPeriodMs = 500;

/** Throws when Go is missing and can not be fetched, or when the build fails. Concurrent builds of the same program are safe. */
export async function buildWithGo(build: GoBuild): Promise<void> {
  const { module, folder, programs, progress } = build;
  const go = await ensureGo(module, progress);
  const names = Object.keys(programs).join(', ');
  const startedMs = performance.now();
  progress(`building ${names} with Go, once: up to ten minutes on two cores`);
  mkdirSync(folder, { recursive: true });
  const unfinished = mkdtempSync(join(folder, '.part-'));
  // Go renames a finished program from its temporary folder to the given one, as both are on one file system. A second rename publishes it.
  const publish = () => {
    for (const [name, target] of Object.entries(programs)) {
      const built = join(unfinished, builtName(build, target));
      if (existsSync(built)) renameSync(built, join(folder, name));
    }
  };
  const timer = setInterval(publish, publishPeriodMs);
  try {
    await run(go, build, [...goArguments(build), '-o', `${unfinished}/`, ...Object.values(programs)], unfinished);
    publish();
  } finally {
    clearInterval(timer);
    rmSync(unfinished, { recursive: true, force: true });
  }
  progress(`built ${names} in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

/** What determines the programs beside their module. */
export function goArguments({ command = 'build', tags = [], variables }: Pick<GoBuild, 'command' | 'tags' | 'variables'>): string[] {
  const settings = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  const options = ['-mod=readonly', '-buildvcs=false', '-trimpath'];
  // The linker leaves out debug information anyway. To produce none saves a tenth of the compilers' time.
  options.push('-gcflags=all=-dwarf=false', '-ldflags', ['-s', '-w', ...settings].join(' '));
  if (tags.length > 0) options.push('-tags', tags.join());
  return [...(command === 'test' ? ['test', '-c'] : ['build']), ...options];
}

/** Without it a server of Kubernetes reports v0.0.0, and kubectl warns about version skew. */
export function kubernetesVariables(version: string): Record<string, string> {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value]));
}

/** Returns the version that a go.mod requires of a module, such as `v0.64.0`. */
export function requiredVersion(module: string, path: string): string {
  const [, version] = new RegExp(`^\\s*(?:require )?${path} (v\\S+)$`, 'm').exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${module}/go.mod does not require ${path}`);
  return version;
}

/** Go names a program by the last element of its import path that is no version. */
function builtName({ command = 'build' }: GoBuild, target: string): string {
  const name = basename(target.replace(/\/v\d+$/, ''));
  return command === 'test' ? `${name}.test` : name;
}

/** Retries after temporary failures of a module mirror. Go caches what it has built and fetched, so a retry is short. */
async function run({ command, environment }: Go, { module }: GoBuild, args: readonly string[], temporary: string): Promise<void> {
  const env = { ...environment, ...compilerMemory(), CGO_ENABLED: '0', GOTMPDIR: temporary };
  for (let attempt = 1; ; attempt += 1) {
    const child = spawn(command, args, { cwd: module, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (code === 0) return;
    if (attempt === 3 || signal !== null) throw new Error(`go ${args[0]} in ${module} ended with ${signal ?? code}`);
    await sleep(2 ** attempt * 500 * (0.5 + Math.random()));
  }
}

/** Compilers that collect no garbage take a quarter less time and up to 1 GB. There is one for each core, and half of the memory is left. */
function compilerMemory(): NodeJS.ProcessEnv {
  const bytes = Math.min(2 * 1024 ** 3, totalmem() / 2 / availableParallelism());
  return { GOGC: 'off', GOMEMLIMIT: String(Math.floor(bytes)) };
}
