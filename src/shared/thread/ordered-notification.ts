/**
 * A notification on the port over which Comlink serves a thread. Two ports are in no order to each other; on one port, a notification arrives before
 * every answer that is sent after it.
 */
import { parentPort } from 'node:worker_threads';

/** Comlink ignores it: Comlink's own messages have an `id`. */
interface OrderedNotification {
  readonly notification: unknown;
}

/** Posts a notification to main, whose `Thread` calls `onNotification`. */
export function postNotification(notification: unknown): void {
  parentPort?.postMessage({ notification } satisfies OrderedNotification);
}

export function isOrderedNotification(message: unknown): message is OrderedNotification {
  return typeof message === 'object' && message !== null && 'notification' in message;
}
