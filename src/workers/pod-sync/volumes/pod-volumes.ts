/** The room's offer: the four things that a sync does with volumes. */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { ImageSpec, Mount } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { HelperClient } from '../helper-client.ts';

export interface PodVolumesOptions {
  readonly rootDir: string;
  readonly clusterDomain: string;
  /** What may hang in the kernel is asked of it. One a thread. */
  readonly helper: HelperClient;
  readonly logger: Logger;
  readonly selinuxEnabled: boolean;
}

export interface MountVolumesInput {
  readonly pod: Pod;
  readonly node: NodeFacts;
  readonly signal?: AbortSignal;
}

export interface ContainerMountsInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** From `makeEnvironment`: what subPathExpr may refer to. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Of the sandbox; empty for a pod in the host's network. */
  readonly podIPs: readonly string[];
  /** Whether the pod's runtime handler has the feature. */
  readonly supportsRecursiveReadOnly: boolean;
  /** The image behind each image volume, by the volume's name, once it was pulled. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec>;
  readonly signal?: AbortSignal;
}

export class PodVolumes {
  readonly #options: PodVolumesOptions;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /**
   * Makes the pod's folders and sets up each volume that a container uses. Run again, it changes only what is not as it should be:
   * downward API files follow the pod. Rejects with KubeletError `FailedMount`, naming every volume that could not be set up.
   */
  mountVolumes(_input: MountVolumesInput): Promise<void> {
    return Promise.reject(new Error(`under construction: ${this.#options.rootDir}`));
  }

  /**
   * The mounts of one container: its volumeMounts (subPaths bound, safe against a symlink that changes meanwhile), /etc/hosts, and a new
   * termination message file. Rejects with KubeletError `CreateContainerConfigError`.
   */
  makeContainerMounts(_input: ContainerMountsInput): Promise<Mount[]> {
    return Promise.reject(new Error('under construction'));
  }

  /**
   * Takes down all that is mounted below the pod's folder, deepest first, then what volumes left on disk. Needs only the UID. Nothing to
   * do is a success. Rejects naming the path that is still busy.
   */
  unmountVolumes(_podUID: PodUID, _signal?: AbortSignal): Promise<void> {
    return Promise.reject(new Error('under construction'));
  }

  /** Removes the pod's folder. Refuses (rejects) while anything is mounted below it; follows neither a symlink nor a mount. */
  removePodDirectory(_podUID: PodUID, _signal?: AbortSignal): Promise<void> {
    return Promise.reject(new Error('under construction'));
  }
}
