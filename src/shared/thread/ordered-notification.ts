/**
 * A notification on the port over which Comlink serves a thread. Messages on two ports may arrive in any order. On one port, a notification arrives before
 * every answer that is sent later.
 */
import { parentPort } from 'node:worker_threads';

/** Comlink ignores this message, because it has no `id`, unlike Comlink's own messages. */
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
