/**
 * Puts the program into an empty root folder: the bundle with its Node in /usr/lib/kubelet-ts, the command /usr/bin/kubelet, and the licences.
 * The package and the image contain the same tree.
 */
import { chmodSync, cpSync, globSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { shippedModules } from './modules.ts';

const project = join(import.meta.dirname, '../..');
const home = 'usr/lib/kubelet-ts';

/** Code that was compiled at a start is kept here, since /usr may be read-only. */
export const compileCache = '/var/cache/kubelet-ts';

const command = `#!/bin/sh
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-${compileCache}}"
exec /${home}/bin/kubelet "$@"
`;

/** Needs a finished build in dist/. */
export function installTree(root: string): void {
  const modules = shippedModules(project);
  copy(join(project, 'bin/kubelet'), join(root, home, 'bin/kubelet'));
  for (const file of globSync('dist/src/**/*.js', { cwd: project })) copy(join(project, file), join(root, home, file));
  // Named kubelet: pidof finds a process by the name under which it was started.
  copy(realpathSync(join(modules.node, 'bin/node')), join(root, home, 'dist/kubelet'));
  for (const file of modules.files) copy(join(project, 'node_modules', file), join(root, home, 'node_modules', file));
  write(join(root, home, 'package.json'), `${JSON.stringify({ type: 'module' })}\n`);
  write(join(root, 'usr/bin/kubelet'), command);
  write(join(root, 'usr/share/doc/kubelet-ts/copyright'), licences(modules.licences));
  mkdirSync(join(root, compileCache), { recursive: true });
  // Copies have the modes of a work tree, which depend on its owner's umask.
  setModes(root);
  for (const file of ['usr/bin/kubelet', `${home}/bin/kubelet`, `${home}/dist/kubelet`]) chmodSync(join(root, file), 0o755);
}

function setModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isDirectory()) setModes(path);
    else chmodSync(path, 0o644);
  }
}

export function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

function licences(files: readonly string[]): string {
  const own = readFileSync(join(project, 'LICENSE'), 'utf8');
  const others = files.map(
    (file) => `\n==== ${relative(join(project, 'node_modules'), dirname(file))} ====\n\n${readFileSync(file, 'utf8').trim()}\n`,
  );
  return [`kubelet-ts\n\n${own.trim()}\n`, ...others].join('');
}
