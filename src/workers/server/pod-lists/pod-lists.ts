/**
 * Serves the lists of pods over HTTP. Main serializes a list in portions, and a response holds one portion at a time in memory, however large the pods
 * and however slow the client. Created by the server thread; called by its routes.
 */
import type { MainApi } from '../../../shared/contracts/server/calls.ts';
import type { PodListName } from '../../../shared/contracts/server/pods.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { error, inPieces, withConnectionClose, type Reply } from '../../../shared/http/reply.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { PortionQueue } from './portion-queue.ts';

export type ReplyPodList = (list: PodListName) => Promise<Reply>;

const maxOpenReplies = 256;
/** Small enough that other requests are served in between, and that a connection buffers little. */
const pieceBytes = 64 * 1024;
/** What a response counts for in the read-only server's limit: main's ordinary portion. The portion queue limits longer portions. */
const heldLength = 512 * 1024;

export function createPodLists(main: Pick<MainApi, 'podListUIDs' | 'podListItems'>): ReplyPodList {
  const queue = new PortionQueue((list, uids) => main.podListItems(list, uids));
  let openReplies = 0;

  async function* pieces(list: PodListName, uids: readonly PodUID[]): AsyncGenerator<string | Uint8Array> {
    openReplies += 1;
    try {
      yield '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[';
      let isFirst = true;
      for (let nextIndex = 0; nextIndex < uids.length;) {
        const { taken, json, release } = await queue.take(list, uids.slice(nextIndex));
        try {
          // At least one, so that the loop ends in any case.
          nextIndex += Math.max(1, taken);
          if (json.length === 0) continue;
          if (!isFirst) yield ',';
          isFirst = false;
          for (let start = 0; start < json.length; start += pieceBytes) yield json.subarray(start, start + pieceBytes);
        } finally {
          release();
        }
      }
      yield ']}';
    } finally {
      openReplies -= 1;
    }
  }

  return async (list) => {
    if (openReplies >= maxOpenReplies) return withConnectionClose(error(503, 'too many clients have not taken their responses'));
    try {
      return inPieces(pieces(list, await main.podListUIDs(list)), 'application/json', heldLength);
    } catch (err) {
      return error(500, messageOf(err));
    }
  };
}
