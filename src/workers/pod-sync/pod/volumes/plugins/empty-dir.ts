/** emptyDir: a folder that the pod fills, on the node's disk, in memory or in huge pages (upstream pkg/volume/emptydir). */
import { podVolumeDir } from '../../../../../shared/kubernetes/paths.ts';
import { volumeKinds, type VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import { setUpEmptyDirAt } from '../empty-dir.ts';
import { removeVolumeFolder } from '../remove-volume-folder.ts';
import type { VolumeContext } from '../volume-context.ts';
import type { VolumePlace, VolumePlugin } from './volume-plugin.ts';

export const emptyDir: VolumePlugin<VolumeSource<'emptyDir'>> = {
  holdsFiles: false,
  isMount: ({ medium = '' }) => medium !== '',
  mount: setUp,
  path: pathOf,
  containerMount: async (context) => ({
    hostPath: await context.bindSubPath(pathOf(context), { create: true }),
    readonly: false,
    selinuxRelabel: true,
  }),
  teardown: { removeData: removeVolumeFolder },
};

async function setUp(context: VolumeContext, volume: string, { medium = '', mode, ...source }: VolumeSource<'emptyDir'>): Promise<boolean> {
  const path = pathOf({ rootDir: context.rootDir, podUID: context.pod.metadata.uid, volume });
  const ownMode = context.emptyDirModes ? mode : undefined;
  return setUpEmptyDirAt(context, { path, readinessName: volume, medium, mode: ownMode, applyFSGroup: true, ...source });
}

function pathOf({ rootDir, podUID, volume }: VolumePlace): string {
  return podVolumeDir(rootDir, podUID, volumeKinds.emptyDir.plugin, volume);
}
