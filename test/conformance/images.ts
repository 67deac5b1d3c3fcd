/**
 * The images of upstream's tests, under their names in test/utils/image/manifest.go, built without a registry: upstream's own Go programs, and
 * tools of the host with their libraries. An image is here only if it does what the tests check.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fillBusybox, type LocalImage } from '../../lab/containerd/local-images.ts';
import type { ConformanceBinaries } from './binaries.ts';

export interface TestImage extends LocalImage {
  /** The references that pull it, without the registry: `e2e-test-images/agnhost:2.66.1`. */
  readonly references: readonly string[];
}

/** @param pauseLayout writes a registry's tree of the image `pause:testing` into a folder */
export function testImages(binaries: ConformanceBinaries, pauseTree: (folder: string) => void): readonly TestImage[] {
  const image = (name: string, references: readonly string[], fields: Omit<LocalImage, 'name'>): TestImage => ({
    name: `conformance/${name}`,
    references,
    ...fields,
  });
  return [
    image('pause', ['pause:3.10.2'], {
      entrypoint: ['/pause', '-P'],
      fill: (rootfs) => copyFileSync('/usr/bin/catatonit', join(rootfs, 'pause')),
    }),
    image('busybox', ['e2e-test-images/busybox:1.37.0-2'], {
      entrypoint: [],
      command: ['sh'],
      fill: (rootfs) => {
        fillBusybox(rootfs);
        // The shell of busybox 1.35 drops variables whose names are no identifiers. That of upstream's 1.37 keeps them, as bash does.
        copyWithLibraries('/usr/bin/bash', rootfs);
        replaceLink('/usr/bin/bash', join(rootfs, 'bin/sh'));
      },
    }),
    image('nonroot', ['e2e-test-images/nonroot:1.5'], { entrypoint: [], command: ['/bin/sh'], user: '1234', fill: fillBusybox }),
    image('ipc-utils', ['e2e-test-images/ipc-utils:1.4'], {
      entrypoint: [],
      command: ['/bin/sh'],
      fill: (rootfs) => {
        fillBusybox(rootfs);
        for (const tool of ['/usr/bin/ipcs', '/usr/bin/ipcmk']) copyWithLibraries(tool, rootfs);
      },
    }),
    image('nonewprivs', ['e2e-test-images/nonewprivs:1.4'], {
      entrypoint: [],
      command: ['nnp'],
      fill: (rootfs) => {
        fillBusybox(rootfs);
        const path = join(rootfs, 'usr/local/bin/nnp');
        mkdirSync(dirname(path), { recursive: true });
        copyFileSync(binaries.nonewprivs, path);
        chmodSync(path, 0o6755);
      },
    }),
    // Tests of names need a resolver of glibc.
    image('glibc-dns-testing', ['e2e-test-images/glibc-dns-testing:2.1.1'], {
      entrypoint: [],
      command: ['bash'],
      fill: (rootfs) => {
        fillBusybox(rootfs);
        for (const tool of ['/usr/bin/bash', '/bin/hostname', '/usr/bin/getent']) copyWithLibraries(tool, rootfs);
        copyFileSync('/etc/nsswitch.conf', join(rootfs, 'etc/nsswitch.conf'));
      },
    }),
    // Tests find nginx by the name and the PID file of its process, and some replace it by the newer version.
    ...['1.27.0-2', '1.28.0-2'].map((version) =>
      image(`nginx-${version}`, [`e2e-test-images/nginx:${version}`], {
        entrypoint: ['/bin/sh', '-c', 'echo $$ >/var/run/nginx.pid; exec /usr/sbin/nginx netexec --http-port=80'],
        fill: (rootfs) => {
          fillBusybox(rootfs);
          for (const folder of ['usr/sbin', 'var/run']) mkdirSync(join(rootfs, folder), { recursive: true });
          copyFileSync(binaries.agnhost, join(rootfs, 'usr/sbin/nginx'));
          writeFileSync(join(rootfs, 'etc/version'), `${version}\n`);
        },
      }),
    ),
    // The files that a test of image volumes reads.
    image('kitten', ['e2e-test-images/kitten:1.8'], {
      entrypoint: ['/bin/httpd', '-f'],
      fill: (rootfs) => {
        fillBusybox(rootfs);
        writeFileSync(join(rootfs, 'data.json'), '{"image": "kitten.jpg"}\n');
        writeFileSync(join(rootfs, 'etc/os-release'), 'NAME="Alpine Linux"\n');
      },
    }),
    // The tests update pods from one version to the other.
    image('agnhost', ['e2e-test-images/agnhost:2.66.1'], agnhost(binaries, pauseTree, '2.66.1')),
    image('agnhost-previous', ['e2e-test-images/agnhost:2.55'], agnhost(binaries, pauseTree, '2.55')),
  ];
}

function agnhost(binaries: ConformanceBinaries, pauseTree: (folder: string) => void, version: string): Omit<LocalImage, 'name'> {
  return {
    entrypoint: ['/agnhost'],
    command: ['pause'],
    fill: (rootfs) => {
      fillBusybox(rootfs);
      copyFileSync(binaries.agnhost, join(rootfs, 'agnhost'));
      symlinkSync('agnhost', join(rootfs, 'agnhost-2'));
      mkdirSync(join(rootfs, 'uploads'));
      for (const tool of ['/usr/bin/curl', '/usr/bin/bash', '/usr/sbin/ip', '/usr/bin/unshare']) copyWithLibraries(tool, rootfs);
      const keyAndCertificate = ['-keyout', join(rootfs, 'localhost.key'), '-out', join(rootfs, 'localhost.crt')];
      const subject = ['-subj', '/CN=localhost', '-days', '3650'];
      execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', ...subject, ...keyAndCertificate], { stdio: 'pipe' });
      chmodSync(join(rootfs, 'localhost.key'), 0o644);
      // Of upstream's Dockerfile: a user of the image with a second group, for tests of supplementalGroupsPolicy.
      appendFileSync(join(rootfs, 'etc/passwd'), 'user-defined-in-image:x:1000:1000::/home:/bin/sh\n');
      appendFileSync(join(rootfs, 'etc/group'), 'user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n');
      writeFileSync(join(rootfs, 'etc/version'), `${version}\n`);
      pauseTree(join(rootfs, 'var/registry'));
    },
  };
}

/** Copies a dynamically linked program of the host with the libraries that `ldd` lists. Replaces an applet of busybox. */
function copyWithLibraries(program: string, rootfs: string): void {
  const libraries = [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(
    ([, path = '']) => path,
  );
  for (const path of [program, ...libraries]) {
    const target = join(rootfs, path);
    mkdirSync(dirname(target), { recursive: true });
    // An applet of busybox is a symlink.
    rmSync(target, { force: true });
    copyFileSync(realpathSync(path), target);
  }
  const link = join(rootfs, 'bin', basename(program));
  if (link !== join(rootfs, program)) replaceLink(program, link);
}

function replaceLink(target: string, path: string): void {
  rmSync(path, { force: true });
  symlinkSync(target, path);
}
