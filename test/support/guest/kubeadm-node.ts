/**
 * Guests as kubeadm expects its hosts: this project's package as kubelet, kubeadm, and for the first node the images of a control plane. The images have
 * no programs: patches of kubeadm mount them from the host, since an import of 300 MB takes a guest a minute. The
 * drop-in in ./kubeadm, and the unit that takes the place of the package's on the control plane's host, are those of upstream's packages
 * (kubernetes/release, f618b2a3, as made for Debian).
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Guest, GuestNetwork } from '../../../lab/guest/guest.ts';
import { buildImageArchive, busyboxImage, imageCache, pauseImage } from '../../../lab/containerd/local-images.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';
import { requiredVersion } from '../../../lab/programs/go-build.ts';
import { ensureControlPlane } from '../../../lab/programs/control-plane.ts';
import { ensureKubeadmBinaries, type KubeadmBinaries } from '../../../lab/programs/kubeadm.ts';
import { GuestNode } from './guest-node.ts';
import { networkConfig } from '../../../lab/guest/guest-node-files.ts';
import { kubeProxyImage, programsOfDaemonSets } from './kube-proxy-image.ts';

const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type KubeadmPrograms = Readonly<Record<(typeof components)[number] | 'kubectl', string>> & KubeadmBinaries;

export interface KubeadmNodeOptions {
  readonly name: string;
  /** In 10.99.0.0/24. */
  readonly address: string;
  /** In 10.88.0.0/16, and not that of another node. */
  readonly podSubnet: string;
  /** Of the other nodes: the subnet of their pods. */
  readonly routes: Readonly<Record<string, string>>;
  readonly network: GuestNetwork;
  readonly memory: string;
  readonly programs: KubeadmPrograms;
  readonly deb: string;
  /** More folders of the host that have the same path in the guest. Default: none. */
  readonly share?: readonly string[];
  readonly controlPlane: boolean;
}

const etcdVersion = `${requiredVersion(join(import.meta.dirname, '../../cluster'), 'go.etcd.io/etcd/server/v3').slice(1)}-0`;
const coreDNSVersion = requiredVersion(join(import.meta.dirname, '../../cluster'), 'github.com/coredns/coredns');
/** kubeadm wants to see it before it starts. The runtime has its own. */
const kubeadmPauseImage = 'registry.k8s.io/pause:3.10.2';
/** Of the hosts. Without one CoreDNS does not start. Nothing listens there. */
const nameServer = '10.99.0.254';
/** The folder of patches on the control plane's host. */
export const kubeadmPatches = '/root/patches';
/** A guest computes several times slower than its host: fewer collections of garbage. */
const env = [{ name: 'GOGC', value: '300' }];
/**
 * No test waits for kubeadm's ten seconds between two startup probes; they still may fail for eight minutes. Its readiness probes each second take a
 * guest much time.
 */
const probes = (component: string) => ({
  startupProbe: { initialDelaySeconds: 3, periodSeconds: 3, failureThreshold: 160 },
  ...(component === 'kube-controller-manager' ? {} : { readinessProbe: { periodSeconds: 5 } }),
});
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
  return { ...(await ensureControlPlane(console.log)), ...(await ensureKubeadmBinaries(console.log)) };
}

/** Boots a guest with containerd, kubeadm, kubectl and the enabled kubelet. */
export async function bootKubeadmNode({
  name,
  address,
  podSubnet,
  routes,
  network,
  memory,
  programs,
  deb,
  share = [],
  controlPlane,
}: KubeadmNodeOptions): Promise<GuestNode> {
  const shared = [...new Set([...share, ...[...Object.values(programs), deb].map((path) => dirname(path))])];
  const node = await GuestNode.boot({
    memory,
    network,
    share: shared,
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
        ${Object.entries(routes)
          .map(([other, subnet]) => `ip route add ${subnet} via ${other}`)
          .join('\n')}
        echo nameserver ${nameServer} > /etc/resolv.conf
        mkdir -p ${programsOfDaemonSets}
        mount --bind ${dirname(programs['kube-proxy'])} ${programsOfDaemonSets}
        ln -s ${programs.kubeadm} ${programs.kubectl} /usr/bin/
        ${readmeSteps}`);
      await guest.write('/etc/cni/net.d/10-bridge.conflist', networkConfig({ subnet: podSubnet, isConnected: true }));
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
    const archive = buildImageArchive(imageCache, kubeProxyImage);
    await node.guest.check(`ctr -n k8s.io images import --base-name ${kubeProxyImage.name} ${archive}`);
    await tag(node.guest, `${kubeProxyImage.name}:1`, `registry.k8s.io/kube-proxy:${kubernetesVersion}`);
    await tag(node.guest, busyboxImage, `registry.k8s.io/coredns/coredns:${coreDNSVersion}`);
    if (controlPlane) await addControlPlane(node.guest, programs);
    return node;
  } catch (err) {
    await node.destroy();
    throw err;
  }
}

/** The images under the names for which kubeadm looks, and its patches. */
async function addControlPlane(guest: Guest, programs: KubeadmPrograms): Promise<void> {
  const patch = (target: string, spec: object) => guest.write(`${kubeadmPatches}/${target}+strategic.json`, JSON.stringify({ spec }));
  await tag(guest, pauseImage, kubeadmPauseImage);
  for (const name of components) {
    await tag(guest, busyboxImage, `registry.k8s.io/${name}:${name === 'etcd' ? etcdVersion : kubernetesVersion}`);
    const { containers, volumes } = withProgram(name, `/bin/${name}`, programs[name]);
    await patch(name, { containers: containers.map((container) => ({ ...container, env, ...probes(name) })), volumes });
  }
  const { containers, volumes } = withProgram('coredns', '/coredns', programs.coredns);
  const spec = { containers: containers.map((container) => ({ ...container, command: ['/coredns'], env })), volumes };
  // A second one would show nothing more.
  await patch('corednsdeployment', { replicas: 1, template: { spec } });
}

/** Adds a program of the host to a container. */
function withProgram(container: string, mountPath: string, path: string) {
  return {
    containers: [{ name: container, volumeMounts: [{ name: 'program', mountPath, readOnly: true }] }],
    volumes: [{ name: 'program', hostPath: { path, type: 'File' } }],
  };
}

function tag(guest: Guest, image: string, name: string): Promise<string> {
  return guest.check(`ctr -n k8s.io images tag ${image} ${name}`);
}
