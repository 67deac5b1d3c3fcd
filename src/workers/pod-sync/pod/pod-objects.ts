/** The requests of a task for objects of the API server, by their size (large-work.ts). */
import type { PodObjectRef, PodObjectResult } from '../../../shared/contracts/pod-objects.ts';
import { LargeWorkError, maxLargeBytes } from './large-work.ts';
import type { TaskChannelClient } from './task-channel-client.ts';

/** Resolves with one result for each reference, in order. Rejects when they are longer than `maxBytes`: with LargeWorkError, or what cannot be done at all with an Error. */
export async function requestPodObjects(
  channel: Pick<TaskChannelClient, 'podObjects'>,
  refs: readonly PodObjectRef[],
  maxBytes: number,
): Promise<readonly PodObjectResult[]> {
  const { results, bytes } = await channel.podObjects(refs, maxBytes);
  if (results) return results;
  if (maxBytes < maxLargeBytes) throw new LargeWorkError();
  throw new Error(
    `it refers to objects of ${bytes} bytes in total, more than the ${maxLargeBytes} bytes that one volume or environment may have`,
  );
}
