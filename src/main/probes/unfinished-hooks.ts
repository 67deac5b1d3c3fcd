/** What an earlier kubelet has recorded of the postStart hooks that it has not ended (workers/pod-sync/pod/start/post-start-record.ts). */
import { readdir, rm } from 'node:fs/promises';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';
import { postStartHookRecord, postStartHooksDir } from '../../shared/kubernetes/paths.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** Never rejects. */
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
 * Removes the records of containers that run no more, of those that were read at the start. Never rejects. Call this when the runtime's containers are known. When
 * some are not, all records stay until the next start.
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
