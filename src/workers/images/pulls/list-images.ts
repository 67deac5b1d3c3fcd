/** Lists the runtime's images for the node status. */
import type { RuntimeImage } from '../../../shared/contracts/images.ts';
import type { CriClient } from '../../../shared/cri/client.ts';

/** Rejects with the runtime's error. */
export async function listImages(images: CriClient['images'], deadlineMs: number): Promise<RuntimeImage[]> {
  const { images: listed } = await images.call('listImages', {}, { deadlineMs });
  return listed.map(({ id, repoTags, repoDigests, size }) => ({ id, repoTags, repoDigests, sizeBytes: Number(size) }));
}
