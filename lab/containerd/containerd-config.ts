/** The texts of a private containerd's configuration and of its pods' network. Pure. */
import { join } from 'node:path';
import { pauseImage } from './local-images.ts';

export interface ContainerdSettings {
  /** Contains all files. Must be short: a socket's path is limited to 108 bytes. */
  readonly folder: string;
  /** The pods' /16 network, unique on the host: `10.87` means 10.87.0.0/16. */
  readonly network?: string;
  /** Pods reach networks outside of the host. Default: true. Each pod then has rules in the packet filter. */
  readonly masquerade?: boolean;
  /** Host ports of pods work. Default: true. Each pod then costs some ten calls of iptables, most of them at its end. */
  readonly hostPorts?: boolean;
  /** Ends a pull without progress after this time, for example `8s`. Default: containerd's. */
  readonly imagePullProgressTimeout?: string;
  /** Containers get limits of huge pages, which containerd leaves out by default. */
  readonly hugePageLimits?: boolean;
  /** The program that starts containers. Default: the runc of PATH. */
  readonly runc?: string;
  /** More runtime handlers: the program that containerd calls as runc, by name. */
  readonly handlers?: Readonly<Record<string, string>>;
}

/** A second runtime handler, for RuntimeClass tests. */
export const secondRuntimeHandler = 'second';

/** Of its CRI: `unix:///…` */
export function containerdEndpoint(folder: string): string {
  return `unix://${join(folder, 'c.sock')}`;
}

/** Contains a folder with a `hosts.toml` for each registry that containerd does not reach by its name. */
export function registriesFolder(folder: string): string {
  return join(folder, 'certs.d');
}

/** The file of containerd's configuration. */
export function containerdConfigText(
  root: string,
  { folder, imagePullProgressTimeout: progressTimeout, hugePageLimits = false, runc, handlers = {} }: ContainerdSettings,
): string {
  return `version = 2
root = "${root}"
state = "${folder}/state"
[grpc]
  address = "${folder}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # without CAP_SYS_RESOURCE no sandbox would start
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  disable_hugetlb_controller = ${!hugePageLimits}
${progressTimeout === undefined ? '' : `  image_pull_progress_timeout = "${progressTimeout}"\n`}  # read at each pull: hosts.toml of registries
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${registriesFolder(folder)}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
${runc === undefined ? '' : `    options = { BinaryName = "${runc}" }\n`}  # the same under another name: what a RuntimeClass chooses
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${secondRuntimeHandler}]
    runtime_type = "io.containerd.runc.v2"
${Object.entries(handlers).map(handlerText).join('')}  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
`;
}

function handlerText([name, program]: [string, string]): string {
  return `  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}]
    runtime_type = "io.containerd.runc.v2"
    options = { BinaryName = "${program}" }
`;
}

/** The plugin of the pods' network for host ports. */
export const portMapping = { type: 'portmap', capabilities: { portMappings: true } };

/** The bridge is named after the network, so that the names of two instances differ. */
export function podNetworkText({ folder, network = '10.87', masquerade = true, hostPorts = true }: ContainerdSettings): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: `kl${network.replace('.', '-')}`,
        isGateway: true,
        ipMasq: masquerade,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${folder}/ipam`,
          ranges: [[{ subnet: `${network}.0.0/16` }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      ...(hostPorts ? [portMapping] : []),
    ],
  });
}
