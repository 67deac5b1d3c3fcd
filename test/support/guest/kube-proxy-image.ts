/**
 * The image of kube-proxy: the host's iptables, which kube-proxy runs, with its libraries. The program itself is not in it, because its import takes a
 * guest ten seconds. kubeadm has no patch for the DaemonSet, so the program is found in the folder of the node that the DaemonSet mounts.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fillBusybox, type LocalImage } from '../../../lab/containerd/local-images.ts';

/** A folder of the node which kubeadm's DaemonSet of kube-proxy mounts. */
export const programsOfDaemonSets = '/lib/modules';
const iptables = '/usr/sbin/xtables-nft-multi';
const names = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

export const kubeProxyImage: LocalImage = {
  name: 'local.example/kube-proxy',
  entrypoint: ['/usr/local/bin/kube-proxy'],
  fill: (rootfs) => {
    fillBusybox(rootfs);
    const copy = (path: string) => cpSync(realpathSync(path), join(rootfs, path), { recursive: true });
    for (const path of [iptables, ...librariesOf(iptables)]) copy(path);
    for (const name of names) symlinkSync(iptables, join(rootfs, dirname(iptables), name));
    mkdirSync(join(rootfs, 'usr/local/bin'), { recursive: true });
    symlinkSync(`${programsOfDaemonSets}/kube-proxy`, join(rootfs, 'usr/local/bin/kube-proxy'));
  },
};

/** Returns the shared libraries of a program, its loader, and the folder of iptables' extensions, which is beside its library. */
function librariesOf(program: string): string[] {
  const output = execFileSync('ldd', [program], { encoding: 'utf8' });
  const libraries = [...output.matchAll(/(\/\S+) \(/g)].map(([, path = '']) => path);
  const [xtables] = libraries.filter((path) => path.includes('/libxtables.'));
  if (xtables === undefined) throw new Error(`${program} has no libxtables: ${output}`);
  return [...libraries, join(dirname(realpathSync(xtables)), 'xtables')];
}
