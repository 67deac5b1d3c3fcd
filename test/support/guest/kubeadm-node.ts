/**
 * Guests as kubeadm expects its hosts: this project's package as kubelet, kubeadm, and for the first node the images of a control plane. The
 * drop-in in ./kubeadm, and the unit that takes the place of the package's on the control plane's host, are those of upstream's packages
 * (kubernetes/release, f618b2a3, as made for Debian).
 */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GuestNetwork } from '../../../scripts/host/guest/guest.ts';
import { buildImageArchive, pauseImage } from '../../../scripts/host/local-images.ts';
import { kubernetesVersion } from '../../../scripts/host/programs/cluster-programs.ts';
import { ensureControlPlane } from '../../../scripts/host/programs/control-plane.ts';
import { ensureKubeadmBinary } from '../../../scripts/host/programs/kubeadm.ts';
import { GuestNode } from './guest-node.ts';

export interface KubeadmPrograms {
  readonly kubeadm: string;
  readonly kubectl: string;
  /** An archive for each program, and the name under which kubeadm looks for it. */
  readonly images: readonly { readonly archive: string; readonly base: string; readonly name: string }[];
}

export interface KubeadmNodeOptions {
  readonly name: string;
  /** In 10.99.0.0/24. */
  readonly address: string;
  readonly network: GuestNetwork;
  readonly memory: string;
  readonly programs: KubeadmPrograms;
  readonly deb: string;
  readonly controlPlane: boolean;
}

const project = join(import.meta.dirname, '../../..');
const etcdVersion = '3.6.8-0';
/** kubeadm wants to see it before it starts. The runtime has its own. */
const kubeadmPauseImage = 'registry.k8s.io/pause:3.10.2';
const slow = { timeoutMs: 300_000 };
const units = '/usr/lib/systemd/system';

/** As in README.md, with a pause image that needs no registry, and for a host without CAP_SYS_RESOURCE. */
const readmeSteps = `
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/; s#/opt/cni/bin#/usr/lib/cni#' > /etc/containerd/config.toml
  sed -i 's#sandbox_image = .*#sandbox_image = "${pauseImage}"#; s/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml
  echo net.ipv4.ip_forward=1 > /etc/sysctl.d/kubernetes.conf
  sysctl -q --system`;

/** Builds what is missing: minutes, once. */
export async function kubeadmPrograms(): Promise<KubeadmPrograms> {
  const binaries = await ensureControlPlane(console.log);
  const kubeadm = await ensureKubeadmBinary(console.log);
  const cache = join(project, '.cache/images');
  const image = (program: 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler', tag: string) => {
    const base = `local.example/${program}-${tag}`;
    const fill = (rootfs: string) => {
      mkdirSync(join(rootfs, 'bin'));
      copyFileSync(binaries[program], join(rootfs, 'bin', program));
    };
    return { base, name: `registry.k8s.io/${program}:${tag}`, archive: buildImageArchive(cache, { name: base, entrypoint: [], fill }) };
  };
  const images = [
    image('etcd', etcdVersion),
    image('kube-apiserver', kubernetesVersion),
    image('kube-controller-manager', kubernetesVersion),
    image('kube-scheduler', kubernetesVersion),
  ];
  return { kubeadm, kubectl: binaries.kubectl, images };
}

/** Boots a guest with containerd, kubeadm, kubectl and the enabled kubelet. */
export async function bootKubeadmNode({
  name,
  address,
  network,
  memory,
  programs,
  deb,
  controlPlane,
}: KubeadmNodeOptions): Promise<GuestNode> {
  const share = [dirname(programs.kubeadm), dirname(deb)];
  const node = await GuestNode.boot({
    memory,
    network,
    share,
    prepare: async (guest) => {
      await guest.check(`
        set -e
        hostname ${name}
        echo ${name} > /etc/hostname
        echo '${address} ${name}' >> /etc/hosts
        ip link set vec0 name eth0
        ip addr add ${address}/24 dev eth0
        ip link set eth0 up
        ip route add default dev eth0
        ln -s ${programs.kubeadm} ${programs.kubectl} /usr/bin/
        ${readmeSteps}`);
      return {};
    },
  });
  try {
    await node.guest.check(`dpkg -i ${deb}`, slow);
    const files = ['kubelet.service.d/10-kubeadm.conf', ...(controlPlane ? ['kubelet.service'] : [])];
    for (const file of files) {
      await node.guest.write(join(units, file), readFileSync(join(import.meta.dirname, 'kubeadm', file.split('/').at(-1) ?? ''), 'utf8'));
    }
    await node.guest.check('systemctl daemon-reload');
    if (controlPlane) await importImages(node, programs);
    return node;
  } catch (err) {
    await node.destroy();
    throw err;
  }
}

async function importImages({ guest }: GuestNode, { images }: KubeadmPrograms): Promise<void> {
  const ctr = 'ctr -n k8s.io images';
  for (const { archive, base, name } of images) {
    await guest.check(`${ctr} import --base-name ${base} ${archive} && ${ctr} tag ${base}:1 ${name}`, slow);
  }
  await guest.check(`${ctr} tag ${pauseImage} ${kubeadmPauseImage}`);
}
