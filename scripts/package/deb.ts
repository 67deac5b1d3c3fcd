/** Makes the Debian package of an installed tree, with dpkg-deb only. The same sources give the same bytes. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, globSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { write } from './install-tree.ts';

export interface DebOptions {
  /** The tree; gets the control files. */
  readonly root: string;
  readonly path: string;
  readonly version: string;
  readonly kubernetesVersion: string;
  readonly architecture: string;
  /** Seconds since 1970: the time of all files. */
  readonly sourceDate: number;
}

const debian = join(import.meta.dirname, 'debian');
const maintainerScripts = ['prerm', 'postinst', 'postrm'];

export function buildDeb({ root, path, version, kubernetesVersion, architecture, sourceDate }: DebOptions): void {
  const template = (name: string) => readFileSync(join(debian, name), 'utf8');
  write(join(root, 'usr/lib/systemd/system/kubelet.service'), template('kubelet.service'));
  write(join(root, 'etc/default/kubelet'), template('kubelet.default'));
  for (const folder of ['etc/kubernetes/manifests', 'var/lib/kubelet']) mkdirSync(join(root, folder), { recursive: true });
  const files = globSync('**', { cwd: root })
    .filter((file) => lstatSync(join(root, file)).isFile())
    .toSorted();
  const control = join(root, 'DEBIAN');
  const values: Record<string, string> = {
    VERSION: version,
    KUBERNETES_VERSION: kubernetesVersion.slice(1),
    ARCHITECTURE: architecture,
    INSTALLED_SIZE: String(installedKiB(root, files)),
  };
  const text = template('control').replace(/@(\w+)@/g, (_, name: string) => values[name] ?? '');
  write(join(control, 'control'), text);
  write(join(control, 'md5sums'), files.map((file) => `${md5(join(root, file))}  ${file}\n`).join(''));
  for (const name of ['conffiles', ...maintainerScripts]) write(join(control, name), template(name));
  for (const name of maintainerScripts) chmodSync(join(control, name), 0o755);
  // More threads give other bytes. xz would take minutes for a package that is a third smaller.
  execFileSync('dpkg-deb', ['--root-owner-group', '--threads-max=1', '-Zzstd', '-z10', '--build', root, path], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceDate) },
  });
}

function installedKiB(root: string, files: readonly string[]): number {
  return files.reduce((sum, file) => sum + Math.ceil(lstatSync(join(root, file)).size / 1024), 0);
}

function md5(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}
