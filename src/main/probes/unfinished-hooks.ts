/** Reads which postStart hooks an earlier kubelet began and did not end. Tasks record them (workers/pod-sync/pod/start/post-start-record.ts). */
import { readdir, rm } from 'node:fs/promises';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';
import { postStartHookRecord, postStartHooksDir } from '../../shared/kubernetes/paths.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** Returns the containers with such a hook. Never rejects. */
export async function readUnfinishedHooks(rootDir: string, logger: Logger): Promise<ContainerID[]> {
  try {
    return (await readdir(postStartHooksDir(rootDir))) as ContainerID[];
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') {
      logger.error({ err }, 'Cannot read which postStart hooks were interrupted: they do not run again');
    }
    return [];
  }
}

/**
 * Removes the records that were read at the start and whose containers do not run any more. Call this when the runtime's containers are known: if some
 * pods are still uninspected, all records stay until the next start of the kubelet. Never rejects.
 */
export async function removeStaleHookRecords(
  rootDir: string,
  recorded: readonly ContainerID[],
  cache: { all(): Iterable<RuntimePodStatus>; readonly uninspected: ReadonlySet<PodUID> },
  logger: Logger,
): Promise<void> {
  if (recorded.length === 0 || cache.uninspected.size > 0) return;
  const existing = [...cache.all()].flatMap(({ containers }) => containers).filter(({ state }) => state !== 'exited');
  const kept = new Set(existing.map(({ id }) => id));
  for (const id of recorded.filter((one) => !kept.has(one))) {
    await rm(postStartHookRecord(rootDir, id), { force: true }).catch((err: unknown) =>
      logger.warn({ err, containerID: id }, 'Cannot remove the record of a postStart hook'),
    );
  }
}
