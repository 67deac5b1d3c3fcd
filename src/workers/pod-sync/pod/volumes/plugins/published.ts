/**
 * Volumes that the volumes thread publishes in the pod's folder, through a CSI driver (upstream pkg/volume/csi). The sync requests the publication and its
 * end from main, and mounts the published path into containers.
 */
import type { PublishedFolder, PublishingPlugin } from '../../../../../shared/contracts/published-volumes.ts';
import { podVolumeDir } from '../../../../../shared/kubernetes/paths.ts';
import { volumeKinds } from '../../../../../shared/kubernetes/volume-kind.ts';
import { join } from 'node:path';
import { rm, rmdir } from '../../blocking-fs.ts';
import type { TeardownContext } from '../teardown-context.ts';
import type { VolumeContext } from '../volume-context.ts';
import { VolumeNotReadyError } from '../volume-not-ready.ts';
import type { ContainerMountContext, VolumeMountFields, VolumeOnDisk, VolumePlace, VolumePlugin, VolumeTeardown } from './volume-plugin.ts';

export const published: VolumePlugin<unknown> = {
  holdsFiles: false,
  isMount: () => true,
  mount: publish,
  containerMount,
  teardown: { unmount: unpublish('kubernetes.io/csi'), removeData },
};

/** The teardown of local persistent volumes. A claim may be bound to a CSI volume or to a local one. */
export const localVolumeTeardown: VolumeTeardown = { unmount: unpublish('kubernetes.io/local-volume'), removeData: removeLocalFolder };

async function publish({ publishVolume, publishedVolumes }: VolumeContext, volume: string): Promise<boolean> {
  const result = await publishVolume(volume);
  if (result.outcome !== 'published') throw new VolumeNotReadyError(result);
  publishedVolumes.set(volume, result.volume);
  return false;
}

async function containerMount(context: ContainerMountContext): Promise<VolumeMountFields> {
  const volume = context.publishedVolume;
  if (!volume) throw new Error(`volume ${context.volume} is not published yet`);
  const path = 'hostPath' in volume.place ? volume.place.hostPath : publishedPath(context, volume.place);
  return { hostPath: await context.bindSubPath(path, { create: !volume.readOnly }), readonly: volume.readOnly, selinuxRelabel: true };
}

function publishedPath({ rootDir, podUID }: VolumePlace, { plugin, specName }: PublishedFolder): string {
  const folder = podVolumeDir(rootDir, podUID, plugin, specName);
  const { csi } = volumeKinds;
  return plugin === csi.plugin ? join(folder, csi.filesIn) : folder;
}

function unpublish(plugin: PublishingPlugin): NonNullable<VolumeTeardown['unmount']> {
  return async ({ unpublishVolume }: TeardownContext, { volume }: VolumeOnDisk) => {
    const result = await unpublishVolume({ plugin, specName: volume });
    if (result.outcome !== 'unpublished') throw new VolumeNotReadyError(result);
  };
}

/** Removes the empty mount point only: if files are left in the folder, they may be data, and the removal fails. */
async function removeLocalFolder(_: TeardownContext, { path }: VolumeOnDisk): Promise<void> {
  await rmdir(path).catch(ignoreMissing);
}

/** The end of the publication has removed the volume's folder. If the driver has left the folder, it is removed once it is empty. */
async function removeData(_: TeardownContext, { path }: VolumeOnDisk): Promise<void> {
  await rmdir(join(path, volumeKinds.csi.filesIn)).catch(ignoreMissing);
  await rm(join(path, 'vol_data.json'), { force: true });
  await rmdir(path).catch(ignoreMissing);
}

function ignoreMissing(err: NodeJS.ErrnoException): void {
  if (err.code !== 'ENOENT') throw err;
}
