/** Decides whether the files of a CSI volume get the pod's fsGroup (upstream csiMountMgr.supportsFSGroup). Pure. */
import type { FSGroupChange } from '../../../shared/contracts/volumes.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';

export interface FSGroupVolume {
  /** The policy of the CSIDriver. Undefined: ReadWriteOnceWithFSType. */
  readonly fsGroupPolicy: string | undefined;
  readonly fsType: string;
  readonly accessModes: readonly string[];
  readonly readOnly: boolean;
}

/** Returns null for a pod without a group. */
export function fsGroupChange({ spec }: Pod, volume: FSGroupVolume): FSGroupChange | null {
  const { fsGroup, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (fsGroup === undefined) return null;
  return { fsGroup, onlyOnRootMismatch: fsGroupChangePolicy === 'OnRootMismatch', appliesToFiles: appliesToFiles(volume) };
}

function appliesToFiles({ fsGroupPolicy = 'ReadWriteOnceWithFSType', fsType, accessModes, readOnly }: FSGroupVolume): boolean {
  if (fsGroupPolicy === 'None' || readOnly) return false;
  if (fsGroupPolicy === 'File') return true;
  return fsType !== '' && accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}
