/** The inputs and results of the functions that make sandbox and container configs. All are plain data. */
import type { NodeInfo } from '../../../../shared/contracts/node-info.ts';
import type { ContainerBackoff } from '../../../../shared/contracts/pod-sync/result.ts';
import type { ContainerAllocation, UserNamespaceChoice } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';
import type { Mount } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import type { EnvFile } from './env-file.ts';

/** Properties of the host that configs depend on, in addition to the node's facts. Read by `HostInfoReader`. */
export interface HostInfo {
  /** The content of the file `settings.resolvConf`; null when the setting is empty. */
  readonly resolvConf: string | null;
  /** The sizes in /sys/kernel/mm/hugepages, in the runtime's spelling: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether the memory cgroup can limit swap. */
  readonly swapControllerAvailable: boolean;
  /** The node's swap, which containers share under LimitedSwap; 0 without LimitedSwap. */
  readonly swapCapacityBytes: number;
  /** The folders /sys/devices/system/cpu/cpuN/thermal_throttle that exist. Containers do not see them, as upstream. */
  readonly thermalThrottlePaths: readonly string[];
  /** The output of `uname -r`, which begins with `major.minor.patch`. Decides which sysctls are safe. */
  readonly kernelVersion: string;
  readonly selinuxEnabled: boolean;
}

export interface PodConfigInput {
  readonly pod: Pod;
  readonly node: NodeInfo;
  readonly settings: PodSyncSettings;
  readonly hostInfo: HostInfo;
  /** Set for a pod with `hostUsers: false`. */
  readonly userNamespace?: UserNamespaceChoice | undefined;
}

export interface SandboxConfigInput extends PodConfigInput {
  readonly attempt: number;
  /** The path of the pod's cgroup, as its driver spells it. */
  readonly cgroupParent: string;
}

/** A problem that is recorded as a Warning event. */
export interface ConfigWarning {
  /** The object of the event; the pod when absent. */
  readonly object?: 'node';
  /** The event's reason: DNSConfigForming or MissingClusterDNS. */
  readonly reason: string;
  readonly message: string;
}

/** The value of an environment variable, with every reference resolved. */
export interface EnvValue {
  readonly name: string;
  readonly value: string;
  /** Replaces `value` when a secret's value is not valid UTF-8. */
  readonly bytes?: Uint8Array;
}

/** The API objects that an environment needs. Read by `readEnvironmentObjects`. */
export interface EnvironmentObjects {
  readonly services: PodObjectResult;
  /** By name. */
  readonly configMaps: ReadonlyMap<string, PodObjectResult>;
  /** By name. */
  readonly secrets: ReadonlyMap<string, PodObjectResult>;
}

/** The user that the image declares, from ImageStatus. `uid` wins over `username`; root when neither is set. */
export interface ImageUser {
  readonly uid?: bigint | number;
  readonly username?: string;
}

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly node: NodeInfo;
  readonly settings: Pick<PodSyncSettings, 'featureGates'>;
  /** The sandbox's IPs, primary first; the node's for a pod in the host's network. */
  readonly podIPs: readonly string[];
  readonly objects: EnvironmentObjects;
  /** The files that fileKeyRefs refer to, by `envFileKey`. Read by `PodVolumes.readEnvFiles`. */
  readonly envFiles?: ReadonlyMap<string, EnvFile>;
}

/** The input of `containerResources`. */
export interface ContainerResourcesInput extends PodConfigInput, ContainerAllocation {
  readonly container: Container | EphemeralContainer;
}

export interface ContainerConfigInput extends ContainerResourcesInput {
  readonly restartCount: number;
  /** The back-off after the container's next exit; absent before its first exit. */
  readonly restartBackOff?: ContainerBackoff;
  /** The runtime's reference of the pulled image. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  /** Made by `makeEnvironment`. */
  readonly env: readonly EnvValue[];
  /** Made by `PodVolumes.makeContainerMounts`. */
  readonly mounts: readonly Mount[];
  /** The container whose PID namespace an ephemeral container joins. */
  readonly targetContainerID?: string;
}
