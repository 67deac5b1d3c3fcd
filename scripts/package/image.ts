/**
 * Makes a container image of an installed tree, as an OCI layout in a tar file: no Docker, no base image. It has the libraries that Node is linked
 * with, as this host has them, and busybox as its shell. The same sources and libraries give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, chmodSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { write } from './install-tree.ts';

export interface ImageOptions {
  /** Has the tree in its folder `root`. */
  readonly folder: string;
  readonly path: string;
  readonly version: string;
  readonly architecture: string;
  /** Seconds since 1970: the time of all files, and of the image. */
  readonly sourceDate: number;
}

export const imageName = 'kubelet-ts';
const certificates = '/etc/ssl/certs/ca-certificates.crt';

export function buildImage({ folder, path, version, architecture, sourceDate }: ImageOptions): void {
  const root = join(folder, 'root');
  addSystem(root);
  const layout = join(folder, 'layout');
  const blobs = join(layout, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  const tar = join(folder, 'layer.tar');
  pack(root, tar, sourceDate);
  const diffId = digestOf(tar);
  execFileSync('gzip', ['-n', '-6', tar]);
  const layer = addBlob(blobs, `${tar}.gz`, 'application/vnd.oci.image.layer.v1.tar+gzip');
  const created = new Date(sourceDate * 1000).toISOString();
  const json = (name: string, mediaType: string, value: object) => {
    writeFileSync(join(folder, name), JSON.stringify(value));
    return addBlob(blobs, join(folder, name), mediaType);
  };
  const config = json('config', 'application/vnd.oci.image.config.v1+json', {
    created,
    architecture,
    os: 'linux',
    config: { Entrypoint: ['/usr/bin/kubelet'], Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'] },
    rootfs: { type: 'layers', diff_ids: [diffId] },
    history: [{ created, created_by: 'npm run package' }],
  });
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = json('manifest', mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
  const annotations = { 'org.opencontainers.image.ref.name': version };
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
  pack(layout, path, sourceDate);
}

/** What the program needs of a system: libraries, a shell with readlink, roots of trust for registries' credentials, users. */
function addSystem(root: string): void {
  const add = (from: string, to = from) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
    chmodSync(join(root, to), 0o755);
  };
  for (const library of librariesOf(join(root, 'usr/lib/kubelet-ts/dist/kubelet'))) add(library);
  add('/bin/busybox');
  for (const applet of ['sh', 'readlink']) symlinkSync('busybox', join(root, 'bin', applet));
  add(certificates);
  chmodSync(join(root, certificates), 0o644);
  write(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  write(join(root, 'etc/group'), 'root:x:0:\n');
  for (const folder of ['root', 'run', 'var/lib/kubelet']) mkdirSync(join(root, folder), { recursive: true });
  mkdirSync(join(root, 'tmp'));
  chmodSync(join(root, 'tmp'), 0o1777);
}

/** With the loader. */
function librariesOf(program: string): readonly string[] {
  const paths = execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => /(?:=> |^\s*)(\/\S+) \(0x/.exec(line)?.[1] ?? []);
  if (paths.length === 0) throw new Error(`${program} has no libraries: ldd does not know it`);
  return paths;
}

function pack(folder: string, path: string, sourceDate: number): void {
  const same = ['--sort=name', `--mtime=@${sourceDate}`, '--owner=0', '--group=0', '--numeric-owner', '--format=posix'];
  // Without the process id and times of tar itself.
  const header = '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime';
  execFileSync('tar', [...same, header, '-C', folder, '-cf', path, '.']);
}

function addBlob(blobs: string, path: string, mediaType: string): { mediaType: string; digest: string; size: number } {
  const digest = digestOf(path);
  const { size } = statSync(path);
  renameSync(path, join(blobs, digest.slice('sha256:'.length)));
  return { mediaType, digest, size };
}

function digestOf(path: string): string {
  return `sha256:${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
}
