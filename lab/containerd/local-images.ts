/**
 * Builds the images of the examples and end-to-end tests from the distribution's packages, so that no registry is needed. `pause` is catatonit
 * in pause mode; `busybox` is the static busybox with its applets.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface LocalImage {
  /** Without a tag. All local images have the tag `1`, because `latest` would be pulled. */
  readonly name: string;
  readonly entrypoint: readonly string[];
  readonly command?: readonly string[];
  /** Default: root. */
  readonly user?: string;
  readonly fill: (rootfs: string) => void;
}

/** Where built images are kept between runs. */
export const imageCache: string = join(import.meta.dirname, '../../.cache/images');

export const pauseImage = 'local.example/pause:1';
export const busyboxImage = 'local.example/busybox:1';
/** Exists after the first start of a containerd. */
export const busyboxArchive: string = join(imageCache, 'local.example_busybox.tar');

const images: readonly LocalImage[] = [
  {
    name: 'local.example/pause',
    entrypoint: ['/catatonit', '-P'],
    fill: (rootfs) => copyFileSync('/usr/bin/catatonit', join(rootfs, 'catatonit')),
  },
  {
    name: 'local.example/busybox',
    entrypoint: ['/bin/sh'],
    fill: fillBusybox,
  },
];

/** For tests of groups: its user `nobody` is a member of the group 100. */
export const groupsImage: LocalImage = {
  name: 'local.example/groups',
  entrypoint: ['/bin/sh'],
  fill: (rootfs) => {
    fillBusybox(rootfs);
    appendFileSync(join(rootfs, 'etc/group'), 'users:x:100:nobody\n');
  },
};

/** Fills a root file system with busybox, its applets, and the users root and nobody. */
export function fillBusybox(rootfs: string): void {
  for (const folder of ['bin', 'etc', 'tmp', 'var', 'root', 'proc', 'sys', 'dev', 'www']) mkdirSync(join(rootfs, folder));
  copyFileSync('/bin/busybox', join(rootfs, 'bin/busybox'));
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(rootfs, 'bin', applet));
  writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n');
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\nnobody:x:65534:\n');
}

/**
 * Builds images that are missing in the image cache. Returns an OCI archive and the import name of each image. Needs umoci, and root for the layers'
 * file owners.
 */
export function buildLocalImageArchives(): readonly { readonly archive: string; readonly name: string }[] {
  return images.map((image) => ({ archive: buildImageArchive(imageCache, image), name: image.name }));
}

/** Returns the archive of one image. */
export function buildImageArchive(cache: string, image: LocalImage): string {
  mkdirSync(cache, { recursive: true });
  const archive = join(cache, `${image.name.replaceAll('/', '_')}.tar`);
  if (!existsSync(archive)) build(image, archive);
  return archive;
}

function build(image: LocalImage, archive: string): void {
  const work = mkdtempSync(join(tmpdir(), 'local-image-'));
  const umoci = (...args: string[]) => execFileSync('umoci', args, { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    umoci('init', '--layout', 'layout');
    umoci('new', '--image', 'layout:1');
    umoci('unpack', '--image', 'layout:1', 'bundle');
    image.fill(join(work, 'bundle/rootfs'));
    umoci('repack', '--image', 'layout:1', 'bundle');
    const { entrypoint, command = [], user } = image;
    const words = [...entrypoint.map((word) => `--config.entrypoint=${word}`), ...command.map((word) => `--config.cmd=${word}`)];
    const cleared = ['--clear=config.entrypoint', '--clear=config.cmd'];
    umoci('config', '--image', 'layout:1', ...cleared, ...words, ...(user === undefined ? [] : [`--config.user=${user}`]));
    execFileSync('tar', ['-C', join(work, 'layout'), '-cf', join(work, 'image.tar'), '.']);
    renameSync(join(work, 'image.tar'), `${archive}.part`);
    renameSync(`${archive}.part`, archive);
  } catch (err) {
    throw new Error(`building the image ${image.name}`, { cause: err });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
