/** The inputs and results of `PodVolumes`. */
import type { NodeInfo } from '../../../../shared/contracts/node-info.ts';
import type { VolumeNotReady } from '../../../../shared/contracts/published-volumes.ts';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { ImageSpec } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { RequestPodObjects, VolumeContext } from './volume-context.ts';
import type { HelperClient } from '../../../../shared/helper-client/index.ts';

export interface PodVolumesOptions {
  readonly rootDir: string;
  readonly clusterDomain: string;
  readonly featureGates: PodSyncSettings['featureGates'];
  /** Makes the calls that may hang in the kernel. Each thread has one. */
  readonly helper: HelperClient;
  readonly logger: Logger;
  readonly selinuxEnabled: boolean;
}

export interface MountVolumesInput {
  readonly pod: Pod;
  readonly node: NodeInfo;
  readonly requestPodObjects: RequestPodObjects;
  /** Default: volumes that must be published fail. */
  readonly publishVolume?: VolumeContext['publishVolume'];
  /** `mountVolumes` adds the published volumes here. */
  readonly publishedVolumes?: VolumeContext['publishedVolumes'];
  /** Runs the set-ups of volumes with large files one after the other. Default: all at once. */
  readonly inTurn?: <T>(work: () => Promise<T>) => Promise<T>;
  readonly signal?: AbortSignal;
}

export interface ResizeMemoryVolumeInput {
  /** With the allocated size limit of the volume. */
  readonly pod: Pod;
  readonly node: NodeInfo;
  readonly volume: string;
}

/** A volume that could not be set up or updated. */
export interface VolumeFailure {
  readonly volume: string;
  /** Worded like upstream's: `MountVolume.SetUp failed for volume "v" : secret "s" not found`. */
  readonly message: string;
  /**
   * `unknown`: this kubelet does not support the volume's kind, or its claim can't be used. `missing`: the volume could not be set up. `outdated`: an earlier sync has
   * set it up, and its files could not be updated; containers may use it. `waiting`: an operation on the volume is under way, which is no failure yet.
   */
  readonly state: 'unknown' | 'missing' | 'outdated' | 'waiting';
  /** See VolumeNotReady. */
  readonly reason?: VolumeNotReady['reason'];
  readonly isUnattached?: boolean;
}

export interface ContainerMountsInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** Made by `makeEnvironment`. The variables that subPathExpr may use. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** The IPs of the sandbox; empty for a pod in the host's network. Null when not known yet: the hosts file stays empty until `writeHostsFile`. */
  readonly podIPs: readonly string[] | null;
  /** The restart count of the container instance that gets the mounts. */
  readonly restartCount: number;
  /** Whether the pod's runtime handler supports recursive read-only mounts. */
  readonly supportsRecursiveReadOnly: boolean;
  /** The pulled image of each image volume, by volume name. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec>;
  /** Filled by `mountVolumes`, by volume name. */
  readonly publishedVolumes?: VolumeContext['publishedVolumes'];
  readonly signal?: AbortSignal;
}

export interface EnvFilesInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** The limit of all files together: `maxSmallBytes`, or `maxLargeBytes` with permission (large-work.ts). */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}
