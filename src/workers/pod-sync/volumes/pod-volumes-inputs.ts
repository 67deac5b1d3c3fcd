/** What the room takes. */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { ImageSpec } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { RequestPodObjects } from './volume-context.ts';
import type { HelperClient } from '../helper/helper-client.ts';

export interface PodVolumesOptions {
  readonly rootDir: string;
  readonly clusterDomain: string;
  /** Absent: the defaults. */
  readonly featureGates?: PodSyncSettings['featureGates'];
  /** What may hang in the kernel is asked of it. One a thread. */
  readonly helper: HelperClient;
  readonly logger: Logger;
  readonly selinuxEnabled: boolean;
}

export interface MountVolumesInput {
  readonly pod: Pod;
  readonly node: NodeFacts;
  readonly requestPodObjects: RequestPodObjects;
  readonly signal?: AbortSignal;
}

/** A volume that is not as it should be. */
export interface VolumeFailure {
  readonly volume: string;
  /** Upstream's: `MountVolume.SetUp failed for volume "v" : secret "s" not found`. */
  readonly message: string;
  /**
   * `unknown`: this kubelet has no such volumes. `missing`: it could not be set up. `outdated`: it is there from before, and could not be
   * brought up to date: the pod goes on with what it has.
   */
  readonly state: 'unknown' | 'missing' | 'outdated';
}

export interface ContainerMountsInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** From `makeEnvironment`: what subPathExpr may refer to. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Of the sandbox; empty for a pod in the host's network. Null: not known yet; the hosts file stays empty until `writeHosts`. */
  readonly podIPs: readonly string[] | null;
  /** Of the instance that it is for. */
  readonly restartCount: number;
  /** Whether the pod's runtime handler has the feature. */
  readonly supportsRecursiveReadOnly: boolean;
  /** The image behind each image volume, by the volume's name, once it was pulled. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec>;
  readonly signal?: AbortSignal;
}
