/**
 * Guests as kubeadm expects its hosts: this project's package as kubelet, kubeadm, and for the first node the images of a control plane. The images have
 * no programs: patches of kubeadm mount them from the host, since an import of 300 MB takes a guest a minute. The
 * drop-in in ./kubeadm, and the unit that takes the place of the package's on the control plane's host, are those of upstream's packages
 * (kubernetes/release, f618b2a3, as made for Debian).
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Guest, GuestNetwork } from '../../../scripts/host/guest/guest.ts';
import { busyboxImage, pauseImage } from '../../../scripts/host/local-images.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';
import { requiredVersion } from '../../../scripts/host/programs/go-build.ts';
import { ensureControlPlane } from '../../../scripts/host/programs/control-plane.ts';
import { ensureKubeadmBinary } from '../../../scripts/host/programs/kubeadm.ts';
import { GuestNode } from './guest-node.ts';

const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type KubeadmPrograms = Readonly<Record<(typeof components)[number] | 'kubeadm' | 'kubectl', string>>;

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

const etcdVersion = `${requiredVersion(join(import.meta.dirname, '../../cluster'), 'go.etcd.io/etcd/server/v3').slice(1)}-0`;
/** kubeadm wants to see it before it starts. The runtime has its own. */
const kubeadmPauseImage = 'registry.k8s.io/pause:3.10.2';
/** The folder of patches on the control plane's host. */
export const kubeadmPatches = '/root/patches';
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
  return { ...(await ensureControlPlane(console.log)), kubeadm: await ensureKubeadmBinary(console.log) };
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
  const share = [...new Set([...Object.values(programs), deb].map((path) => dirname(path)))];
  const node = await GuestNode.boot({
    memory,
    // kubeadm refuses a control plane on one.
    cpus: 2,
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
    if (controlPlane) await addControlPlane(node.guest, programs);
    return node;
  } catch (err) {
    await node.destroy();
    throw err;
  }
}

/** The images under the names for which kubeadm looks, and its patches. */
async function addControlPlane(guest: Guest, programs: KubeadmPrograms): Promise<void> {
  const tag = (image: string, name: string) => guest.check(`ctr -n k8s.io images tag ${image} ${name}`);
  await tag(pauseImage, kubeadmPauseImage);
  for (const name of components) {
    await tag(busyboxImage, `registry.k8s.io/${name}:${name === 'etcd' ? etcdVersion : kubernetesVersion}`);
    const volumeMounts = [{ name: 'program', mountPath: `/bin/${name}`, readOnly: true }];
    const volumes = [{ name: 'program', hostPath: { path: programs[name], type: 'File' } }];
    await guest.write(
      `${kubeadmPatches}/${name}+strategic.json`,
      JSON.stringify({ spec: { containers: [{ name, volumeMounts }], volumes } }),
    );
  }
}
