/** The options of a reflector and the handler that it notifies. */
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ApiClient, TrafficClass } from '../api-client.ts';
import type { FieldSelector } from '../field-selector.ts';
import type { ApiObject, ObjectChange, ObjectStore } from './object-store.ts';

export interface ReflectorHandler<T> {
  /** Called with all objects after the first sync, and whenever the reflector has read everything again. */
  onReplace(objects: readonly T[]): void;
  /** Called with the changes of one event-loop iteration, in the server's order. Never called before the first `onReplace`. */
  onChange(changes: readonly ObjectChange<T>[]): void;
}

/** An object that could not be read: only the metadata that identifies it. */
export type UnreadObject = Pick<ApiObject, 'metadata'>;

export interface ReflectorOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly path: string;
  readonly fieldSelector?: FieldSelector;
  readonly trafficClass: TrafficClass;
  /** The type of the objects. The API server omits apiVersion and kind from the items of a list. */
  readonly apiVersion: string;
  readonly kind: string;
  /** A watch without an event for this long, plus up to half of it as jitter, is restarted. Default: only the watch's timeoutSeconds limits it. */
  readonly idleTimeoutMs?: number;
  readonly handler: ReflectorHandler<T>;
  /** The reflector writes the objects into this store. Default: a store that the reflector creates. */
  readonly store?: ObjectStore<T>;
  /** Returns the object to store, or null to reject the object. Default: stores the object as received. */
  readonly accept?: (object: T) => T | null;
  /** Called for an object that was too large to be read. Its last accepted version stays. */
  readonly onUnread?: (object: UnreadObject, problem: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

/**
 * The idle timeout of watches that the node depends on: its pods and its Node. API servers send a bookmark each minute if anything changes
 * in the cluster. Three missing bookmarks can mean that a proxy has dropped the watch but keeps its connection. In a quiet cluster the
 * timeout costs one request.
 */
export const criticalWatchIdleTimeoutMs = 180_000;
