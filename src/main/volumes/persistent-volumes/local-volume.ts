/** Folders and disks of this node (upstream pkg/volume/local). The volumes thread mounts them. */
import { volumeModeProblem } from '../claims/volume-mode.ts';
import type { LocalSource } from '../volume-objects.ts';
import type { PersistentVolumeKind } from './persistent-volume-kind.ts';
import { mountOptionsOf } from './volume-mount-options.ts';

/** mount(2) takes one page of options, 4,096 bytes, and a path of as many (PATH_MAX). */
const maxOptionsAndPath = 8192;

export const localVolume: PersistentVolumeKind<LocalSource> = {
  supportsMountOptions: true,
  async toPublication(claimed) {
    const { pod, persistentVolume, source, readOnly } = claimed;
    const problem = volumeModeProblem(claimed);
    if (problem !== null) return problem;
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    const specName = persistentVolume.metadata.name;
    const mountOptions = mountOptionsOf(persistentVolume);
    if (JSON.stringify([source.path, mountOptions]).length > maxOptionsAndPath)
      return `the path and the mount options of volume ${specName} have more than ${maxOptionsAndPath} characters`;
    const request = {
      podUID: pod.metadata.uid,
      specName,
      path: source.path,
      fsType: source.fsType ?? '',
      mountOptions,
      accessModes: persistentVolume.spec?.accessModes ?? [],
      readOnly,
      fsGroup: fsGroup === undefined ? null : { fsGroup, onlyOnRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' },
    };
    return {
      published: { place: { plugin: 'kubernetes.io/local-volume', specName }, readOnly },
      persistentVolume,
      publish: (publisher) => publisher.publishLocalVolume(request),
    };
  },
};
