/** Requests from main the API server's objects that a pod needs, within the limits of large-work.ts. */
import type { PodObjectRef, PodObjectResult } from '../../../shared/contracts/pod-objects.ts';
import { LargeWorkError, maxLargeBytes } from './large-work.ts';
import type { TaskChannelClient } from './task-channel-client.ts';

/**
 * Resolves with one result for each reference, in order. When the objects are longer than `maxBytes`, rejects with LargeWorkError if the caller may repeat the
 * request with permission for large work, else with an Error.
 */
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
