/** Builds a program of Kubernetes, or containerd, from Go modules. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureGo, type Go } from './go-toolchain.ts';

export interface GoBuild {
  /** The folder with the go.mod that pins the program. */
  readonly module: string;
  /** For progress and errors. */
  readonly name: string;
  /** Of the built program. */
  readonly path: string;
  /** `build` or `test -c`, and its options. */
  readonly args: readonly string[];
  /** The import path of the package. */
  readonly target: string;
  /** The version that the program reports: `v1.36.3`. */
  readonly version: string;
  /** The variable of the program that holds its version. Default: those of Kubernetes. */
  readonly versionVariable?: string;
  readonly progress: (what: string) => void;
}

/** Throws when Go is missing and can not be fetched, or when the build fails. Concurrent builds of the same program are safe. */
export async function buildWithGo(build: GoBuild): Promise<void> {
  const { module, name, path, args, target, progress } = build;
  const go = await ensureGo(module, progress);
  mkdirSync(dirname(path), { recursive: true });
  const startedMs = performance.now();
  progress(`building ${name} with Go, once: minutes, of which the first program takes most`);
  // Concurrent builds are safe: each has its own unfinished file, and the rename is atomic.
  const unfinished = `${path}.${process.pid}.part`;
  await run(go, module, name, [...args, '-mod=readonly', '-trimpath', '-ldflags', linkerFlags(build), '-o', unfinished, target]);
  renameSync(unfinished, path);
  progress(`built ${name} in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

/** Sets the version. Without it the server reports v0.0.0, and kubectl warns about version skew. */
function linkerFlags({ version, versionVariable }: GoBuild): string {
  const [major, minor] = version.slice(1).split('.');
  const ofKubernetes = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const variables = Object.entries(ofKubernetes).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value]);
  const settings = (versionVariable === undefined ? variables : [[versionVariable, version]]).map(([name, value]) => `-X ${name}=${value}`);
  return ['-s', '-w', ...settings].join(' ');
}

/** Retries after temporary failures of a module mirror. Go caches what it has built and fetched, so a retry is short. */
async function run({ command, environment }: Go, module: string, name: string, args: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const child = spawn(command, args, { cwd: module, env: { ...environment, CGO_ENABLED: '0' }, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (code === 0) return;
    if (attempt === 3 || signal !== null) throw new Error(`go build of ${name} in ${module} ended with ${signal ?? code}`);
    await sleep(2 ** attempt * 500 * (0.5 + Math.random()));
  }
}
