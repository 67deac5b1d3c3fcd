/**
 * What the sync pool does with the volumes of one kind. The kinds are a table (volume-plugins.ts). Other threads measure the usage of volumes, and how is a fact of
 * Kubernetes' kinds: shared/kubernetes/volume-kind.ts.
 */
import type { ImageSpec, Mount } from '../../../../../shared/cri/generated/cri-v1.ts';
import type { PublishedVolume } from '../../../../../shared/contracts/published-volumes.ts';
import type { VolumeContext } from '../volume-context.ts';
import type { TeardownContext } from '../teardown-context.ts';

/** Where a pod's volume belongs. */
export interface VolumePlace {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly volume: string;
}

export interface ContainerMountContext extends VolumePlace {
  readonly subPath: string;
  /**
   * Returns the path of the volume's subPath, bind-mounted so that a symlink that is swapped meanwhile is harmless, or `volumePath` without a subPath. With
   * `create`, a missing folder is made. Rejects with an Error for the user.
   */
  readonly bindSubPath: (volumePath: string, options: { readonly create: boolean }) => Promise<string>;
  /** The volume's pulled image. */
  readonly pulledImage: ImageSpec | undefined;
  /** The volume as the volumes thread has published it. */
  readonly publishedVolume: PublishedVolume | undefined;
}

/** The fields of a container's mount that depend on the kind. */
export type VolumeMountFields = Pick<Partial<Mount>, 'hostPath' | 'image' | 'imageSubPath'> & {
  /** Also without the mount's `readOnly`. */
  readonly readonly: boolean;
  /** Where SELinux is enabled, the files get the labels of the container. */
  readonly selinuxRelabel: boolean;
};

/** A volume in the pod's folder, which also another kubelet may have set up: its spec may be unknown. */
export interface VolumeOnDisk extends VolumePlace {
  readonly path: string;
}

export interface VolumeTeardown {
  /**
   * Ends what is mounted at the volume by other means than an unmount of what the mount table has there. Called when no container runs and no subPath is
   * mounted. Idempotent. What it leaves mounted is unmounted.
   */
  readonly unmount?: (context: TeardownContext, volume: VolumeOnDisk) => Promise<void>;
  /** Removes the volume's files. Nothing is mounted there. Idempotent. */
  readonly removeData: (context: TeardownContext, volume: VolumeOnDisk) => Promise<void>;
}

export interface VolumePlugin<Source> {
  /** A mount holds the volume's files in memory: only some mounts of such kinds run at a time. */
  readonly holdsFiles: boolean;
  /**
   * Sets up the volume, and with a repeated call what has changed. Returns false when it was ready already. Rejects with an Error that names what it needs; a
   * ready volume is then unchanged.
   */
  mount(context: VolumeContext, volume: string, source: Source): Promise<boolean>;
  /** Whether the volume is a mount of its own in the mount table of the node. */
  isMount(source: Source): boolean;
  /** Whether containers may use what an earlier sync has set up, when a repeated mount fails. Absent: they may not. */
  isUsable?(context: VolumeContext, volume: string): Promise<boolean>;
  /** The volume's path on this host. Absent: the runtime mounts the volume. */
  path?(place: VolumePlace, source: Source): string;
  containerMount(context: ContainerMountContext, source: Source): Promise<VolumeMountFields>;
  /** Null: the kind has nothing in the pod's folder. */
  readonly teardown: VolumeTeardown | null;
}
