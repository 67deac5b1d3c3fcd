/** Gives the files of a CSI or local volume to the pod's fsGroup (upstream pkg/volume/volume_linux.go). */
import type { FSGroupChange, SlowGroupChange } from '../../shared/contracts/volumes.ts';
import { changeOwnership, type HelperClient } from '../../shared/helper-client/index.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface ChangeGroupOptions {
  readonly helper: Pick<HelperClient, 'call'>;
  readonly onSlowGroupChange: (change: SlowGroupChange) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface GroupOfVolume extends Pick<FSGroupChange, 'fsGroup' | 'onlyOnRootMismatch'> {
  readonly podUID: string;
  /** Has the files. */
  readonly path: string;
  /** The volume's path in the pod's folder. */
  readonly target: string;
}

/** Files that refuse the group are only logged, as upstream: an NFS server may know no root. Rejects for a folder that can't be read, and when the signal aborts. */
export async function changeGroup(
  { helper, onSlowGroupChange, clock, logger }: ChangeGroupOptions,
  { podUID, path, target, fsGroup, onlyOnRootMismatch }: GroupOfVolume,
  signal: AbortSignal,
): Promise<void> {
  const onSlow = (files: number | null) => onSlowGroupChange({ type: 'slowGroupChange', podUID, target, files });
  const request = { path, fsGroup, readOnly: false, onlyOnRootMismatch };
  const { failures, firstFailure, unreadable } = await changeOwnership(helper, request, { signal, watch: { clock, onSlow } });
  if (unreadable !== null) throw new Error(unreadable);
  if (failures > 0) logger.warn({ path, fsGroup, failures, err: firstFailure }, 'fsGroup not set on every file');
}
