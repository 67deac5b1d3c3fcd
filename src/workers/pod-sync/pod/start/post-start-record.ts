/**
 * The record that the postStart hook of a container has not ended: an empty file, which is written before the container starts and removed when the hook has
 * ended. A kubelet or a thread that ends during a hook leaves the record, and the hook runs again. The runtime ends the containers when the node goes down, so
 * the file need not survive that.
 */
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import { postStartHookRecord, postStartHooksDir } from '../../../../shared/kubernetes/paths.ts';
import { access, mkdir, rm, writeFile } from '../blocking-fs.ts';
import type { TaskContext } from '../dependencies.ts';

type RecordContext = Pick<TaskContext, 'settings' | 'channel' | 'logger'>;

/** Never rejects: a full disk stops no container. Without the record, the end of the kubelet during the hook loses the hook. */
export async function recordPostStart({ settings: { rootDir }, channel, logger }: RecordContext, id: ContainerID): Promise<void> {
  channel.postStartHook(id, true);
  try {
    const path = postStartHookRecord(rootDir, id);
    await writeFile(path, '', { mode: 0o600 }).catch(async () => {
      await mkdir(postStartHooksDir(rootDir), { recursive: true, mode: 0o750 });
      await writeFile(path, '', { mode: 0o600 });
    });
  } catch (err) {
    logger.warn({ err, containerID: id }, 'cannot record that a postStart hook begins: the hook is lost if the kubelet ends meanwhile');
  }
}

export function isPostStartUnfinished({ settings: { rootDir } }: RecordContext, id: ContainerID): Promise<boolean> {
  return access(postStartHookRecord(rootDir, id)).then(
    () => true,
    () => false,
  );
}

/** Never rejects. A record that stays is removed at the kubelet's next start once its container has exited. */
export async function removePostStartRecord({ settings: { rootDir }, channel, logger }: RecordContext, id: ContainerID): Promise<void> {
  channel.postStartHook(id, false);
  try {
    await rm(postStartHookRecord(rootDir, id), { force: true });
  } catch (err) {
    logger.warn({ err, containerID: id }, 'cannot remove the record of a postStart hook that has ended');
  }
}
