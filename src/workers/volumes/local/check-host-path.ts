/** Checks the path of a persistent volume of the kind hostPath (upstream pkg/volume/hostpath). Never rejects. */
import type { VolumeReply } from '../../../shared/contracts/volumes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { HelperClient } from '../../../shared/helper-client/index.ts';

export async function checkHostPathVolume(helper: Pick<HelperClient, 'call'>, path: string, type: string): Promise<VolumeReply> {
  try {
    const { failure } = await helper.call('checkHostPath', { path, type });
    return failure === null ? { outcome: 'done' } : { outcome: 'failed', message: failure };
  } catch (err) {
    return { outcome: 'failed', message: messageOf(err) };
  }
}
