/** The files of a node in a guest: units, containerd's configuration, the network of pods, the kubelet's configuration. */
import { join } from 'node:path';
import { portMapping } from '../containerd/containerd-config.ts';
import { pauseImage } from '../containerd/local-images.ts';
import { kubeletPath } from '../kubelet/kubelet-program.ts';
import { configurationType } from '../kubelet/node-configuration.ts';

/** With the systemd cgroup driver, as kubeadm's documentation asks for. */
export const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # without CAP_SYS_RESOURCE on the host no sandbox would start
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`;

/** @param installation the folder of another containerd; empty for the guest's own */
export function containerdUnit(installation: string): string {
  // The guest has no modules.
  const own = '[Service]\nExecStartPre=\n';
  if (installation === '') return own;
  return `${own}ExecStart=
ExecStart=${join(installation, 'usr/bin/containerd')}
Environment=PATH=${join(installation, 'usr/bin')}:${join(installation, 'usr/sbin')}:/usr/sbin:/usr/bin:/sbin:/bin
`;
}

export interface PodNetwork {
  /** Default: 10.88.0.0/16. */
  readonly subnet?: string;
  /** Pods reach networks outside of the guest, and have host ports. Default: false. Each pod then costs a dozen calls of iptables, at 0.1 s of CPU each. */
  readonly isConnected?: boolean;
}

export function networkConfig({ subnet = '10.88.0.0/16', isConnected = false }: PodNetwork = {}): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: isConnected,
        hairpinMode: true,
        ipam: { type: 'host-local', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      ...(isConnected ? [portMapping] : []),
    ],
  });
}

/** Variables of the kubelet that change with its configuration. */
export const environmentFile = '/etc/kubernetes/environment';

/** As kubeadm's unit, with a shorter delay before a restart. The guest has the project's folder at its path on the host. */
export function kubeletUnit(nodeName: string, flags: readonly string[] = []): string {
  return `[Unit]
Description=kubelet
[Service]
ExecStart=${kubeletPath} --config=/etc/kubernetes/kubelet.json --hostname-override=${nodeName} --v=2 ${flags.join(' ')}
Environment=NODE_COMPILE_CACHE=/var/cache/kubelet
EnvironmentFile=-${environmentFile}
Restart=always
StartLimitInterval=0
RestartSec=1
`;
}

/** The guest belongs to its node alone, so that only what a host of systemd needs differs from Kubernetes' defaults. */
export const kubeletConfig = {
  ...configurationType,
  cgroupDriver: 'systemd',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  readOnlyPort: 10_255,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
};
