/**
 * The contract of a volume kind: how the sync pool mounts and removes volumes of the kind. The kinds are a table (volume-plugins.ts). What other threads need
 * to know of the kinds, such as how to measure the usage of volumes, is in shared/kubernetes/volume-kind.ts.
 */
import type { ImageSpec, Mount } from '../../../../../shared/cri/generated/cri-v1.ts';
import type { PublishedVolume } from '../../../../../shared/contracts/published-volumes.ts';
import type { VolumeContext } from '../volume-context.ts';
import type { TeardownContext } from '../teardown-context.ts';

/** Determines the folder of a pod's volume. */
export interface VolumePlace {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly volume: string;
}

export interface ContainerMountContext extends VolumePlace {
  readonly subPath: string;
  /**
   * Bind-mounts the volume's subPath, so that a symlink that is swapped meanwhile is harmless, and returns the path of the bind mount. Without a subPath,
   * returns `volumePath`. With `create`, a missing folder is made. Rejects with an Error for the user.
   */
  readonly bindSubPath: (volumePath: string, options: { readonly create: boolean }) => Promise<string>;
  /** The volume's pulled image. */
  readonly pulledImage: ImageSpec | undefined;
  /** The volume as the volumes thread has published it. */
  readonly publishedVolume: PublishedVolume | undefined;
}

/** The fields of a container's mount that depend on the kind. */
export type VolumeMountFields = Pick<Partial<Mount>, 'hostPath' | 'image' | 'imageSubPath'> & {
  /** True: the mount is read-only even when the volumeMount is not `readOnly`. */
  readonly readonly: boolean;
  /** Where SELinux is enabled, the files get the labels of the container. */
  readonly selinuxRelabel: boolean;
};

/** A volume in the pod's folder. An earlier kubelet may have set it up, so its spec may be unknown. */
export interface VolumeOnDisk extends VolumePlace {
  readonly path: string;
}

export interface VolumeTeardown {
  /**
   * For kinds whose volumes are not simply unmounted, such as volumes of a CSI driver. Called when no container runs and no subPath is mounted. Idempotent.
   * Mounts that are left afterwards are unmounted.
   */
  readonly unmount?: (context: TeardownContext, volume: VolumeOnDisk) => Promise<void>;
  /** Removes the volume's files. Nothing is mounted there. Idempotent. */
  readonly removeData: (context: TeardownContext, volume: VolumeOnDisk) => Promise<void>;
}

export interface VolumePlugin<Source> {
  /** While such a volume is set up, its files are in the thread's memory: only some set-ups run at a time. */
  readonly holdsFiles: boolean;
  /**
   * Sets up the volume. A repeated call updates what has changed. Returns true if the duration is to be measured: false when the volume was ready already,
   * or when another thread or the runtime sets it up. Rejects with an Error that names what the volume needs; a ready volume is then unchanged.
   */
  mount(context: VolumeContext, volume: string, source: Source): Promise<boolean>;
  /** Returns whether the volume is a mount of its own in the mount table of the node. */
  isMount(source: Source): boolean;
  /** Called when a repeated `mount` fails. Returns whether containers may use the volume as an earlier sync has set it up. Absent: they may not. */
  isUsable?(context: VolumeContext, volume: string): Promise<boolean>;
  /** The volume's path on this host. Absent: the runtime mounts the volume. */
  path?(place: VolumePlace, source: Source): string;
  containerMount(context: ContainerMountContext, source: Source): Promise<VolumeMountFields>;
  /** Null: the kind has nothing in the pod's folder. */
  readonly teardown: VolumeTeardown | null;
}
