/** Decides what a rotation does with the files of one log (upstream pkg/kubelet/logs/container_log_manager.go rotateLog). Pure. */
import {
  compareRotations,
  nextRotationTimestamp,
  parseRotatedLogName,
  type RotatedLogName,
} from '../../../shared/container-logs/rotated-logs.ts';

export interface LogFolderFile {
  readonly name: string;
  /** A folder, symlink or device with the name of a rotated log stays, and its name is not used. */
  readonly isFile: boolean;
  /** A second name of the current log, from a rotation that was undone halfway. */
  readonly isCurrentLog: boolean;
  /** An archive that is being written. */
  readonly isInProgress: boolean;
}

export interface RotationPlan {
  /** In this order: files of earlier rotations that were interrupted, then rotated logs above the limit, oldest first. */
  readonly remove: readonly string[];
  /** Older rotated logs to compress. Oldest first. The newest stays as it is: a log collector may still read it. */
  readonly compress: readonly string[];
  /** The new name of the current log. */
  readonly rotated: string;
}

export interface RotationInput {
  /** File name of the current log. */
  readonly log: string;
  /** The entries of its folder, in any order. */
  readonly files: readonly LogFolderFile[];
  /** The current log, the newest rotated log, and the others. At least 2. */
  readonly maxFiles: number;
  readonly nowMs: number;
}

export function planRotation({ log, files, maxFiles, nowMs }: RotationInput): RotationPlan {
  const taken: string[] = [];
  const unused: string[] = [];
  const usable: RotatedLogName[] = [];
  const names = new Set(files.filter(({ isFile }) => isFile).map(({ name }) => name));
  for (const { name, isFile, isCurrentLog, isInProgress } of files) {
    const parsed = parseRotatedLogName(log, name);
    if (!parsed) continue;
    taken.push(parsed.timestamp);
    if (!isFile || isInProgress) continue;
    const isUnused = isCurrentLog || parsed.kind === 'temporary' || (parsed.kind === 'plain' && names.has(`${name}.gz`));
    if (isUnused) unused.push(name);
    else usable.push(parsed);
  }
  const compare = compareRotations(nowMs);
  const oldestFirst = usable.toSorted((a, b) => compare(a.timestamp, b.timestamp));
  // Two of `maxFiles` are the new log and the log that is rotated now.
  const excess = Math.max(0, oldestFirst.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...unused.toSorted(), ...oldestFirst.slice(0, excess).map(({ fileName }) => fileName)],
    compress: oldestFirst
      .slice(excess)
      .filter(({ kind }) => kind === 'plain')
      .map(({ fileName }) => fileName),
    rotated: `${log}.${nextRotationTimestamp(taken, nowMs)}`,
  };
}
