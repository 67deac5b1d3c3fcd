/** What the making of sandbox and container configs takes and gives. All plain data: the makers are pure. */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { PodObjectResult } from '../../../shared/contracts/pod-objects.ts';
import type { Mount, UserNamespace } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';

/** What a config depends on of this host, beside the node's facts; read by `HostInfoReader`. */
export interface HostInfo {
  /** Content of the file that `settings.resolvConf` names; null when no file is named. */
  readonly resolvConf: string | null;
  /** `2MB`, `1GB`: as /sys/kernel/mm/hugepages has them, in the runtime's spelling. */
  readonly hugePageSizes: readonly string[];
  /** Whether the memory cgroup can limit swap. */
  readonly swapControllerAvailable: boolean;
  readonly swapCapacityBytes: number;
  /** /sys/devices/system/cpu/cpuN/thermal_throttle of the CPUs that have it: masked like upstream does. */
  readonly thermalThrottlePaths: readonly string[];
  /** `major.minor.patch`, as in `uname -r`: decides which sysctls are safe. */
  readonly kernelVersion: string;
  readonly selinuxEnabled: boolean;
}

export interface PodConfigInput {
  readonly pod: Pod;
  readonly node: NodeFacts;
  readonly settings: PodSyncSettings;
  readonly hostInfo: HostInfo;
  /** Mappings of the pod's user namespace; absent: it has the host's. */
  readonly userNamespace?: UserNamespace;
}

export interface SandboxConfigInput extends PodConfigInput {
  readonly attempt: number;
  /** The pod's cgroup as the runtime wants it named (the systemd driver gives the slice's name, cgroupfs the path). */
  readonly cgroupParent: string;
}

/** To be recorded as a Warning event. */
export interface ConfigWarning {
  /** Absent: about the pod. */
  readonly about?: 'node';
  /** DNSConfigForming, MissingClusterDNS. */
  readonly reason: string;
  readonly message: string;
}

/** The value of an environment variable, with every reference resolved. */
export interface EnvValue {
  readonly name: string;
  readonly value: string;
  /** Instead of the value where that is no text: of a secret with other bytes. */
  readonly bytes?: Uint8Array;
}

/** From `readEnvironmentObjects`: what the environment takes from the API server. */
export interface EnvironmentObjects {
  readonly services: PodObjectResult;
  /** By name. */
  readonly configMaps: ReadonlyMap<string, PodObjectResult>;
  readonly secrets: ReadonlyMap<string, PodObjectResult>;
}

/** The user that the image asks for: from ImageStatus, whose `uid` wins; neither set means root. */
export interface ImageUser {
  readonly uid?: bigint | number;
  readonly username?: string;
}

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly node: NodeFacts;
  readonly settings: Pick<PodSyncSettings, 'featureGates'>;
  /** Of the sandbox; primary first. A hostNetwork pod's are the node's. */
  readonly podIPs: readonly string[];
  readonly objects: EnvironmentObjects;
  /** From `PodVolumes.readEnvFiles`, by `envFileKey`: what fileKeyRef refers to. */
  readonly envFiles?: ReadonlyMap<string, string>;
}

export interface ContainerConfigInput extends PodConfigInput {
  readonly container: Container | EphemeralContainer;
  readonly restartCount: number;
  /** What the runtime called the image when it was ensured. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  /** From `makeEnvironment`. */
  readonly env: readonly EnvValue[];
  /** From `PodVolumes.makeContainerMounts`. */
  readonly mounts: readonly Mount[];
  /** The container whose PID namespace an ephemeral container joins. */
  readonly targetContainerID?: string;
  /** What device plugins and drivers ask for this container. */
  readonly devices?: readonly { readonly hostPath: string; readonly containerPath: string; readonly permissions: string }[];
  readonly cdiDeviceNames?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Exclusive CPUs: `0-3,7`. */
  readonly cpusetCpus?: string;
  /** NUMA nodes of the memory manager. */
  readonly cpusetMems?: string;
}
