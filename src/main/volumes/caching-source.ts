/**
 * Cache: an object is read when it is first asked for and again when it has become old (upstream cache_based_manager.go); a pod that comes
 * or changes makes its objects old. With a life of 0 ms this is Get: every question goes to the API server.
 */
import type { Logger } from '../../shared/log/logger.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { ApiClient } from '../api/api-client.ts';
import { isOlder } from '../api/resource-version.ts';
import { getObject, getOrNull, notFound, notRegistered, type KeyedObject, type ObjectKind, type ObjectSource } from './object-source.ts';

export interface CachingSourceOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  /** How long what was read is good. */
  readonly ttlMs: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Item {
  readonly podUIDs: Set<string>;
  /** Null: there is no such object. */
  known?: { readonly object: KeyedObject | null; readonly readAtMs: number };
  /** A pod has come since it was read. */
  isOld: boolean;
  reading?: Promise<KeyedObject | null>;
}

export class CachingSource implements ObjectSource {
  readonly #options: CachingSourceOptions;
  readonly #items = new Map<string, Item>();

  constructor(options: CachingSourceOptions) {
    this.#options = options;
  }

  reference(namespace: string, name: string, podUID: string): void {
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key) ?? { podUIDs: new Set(), isOld: true };
    this.#items.set(key, item);
    item.podUIDs.add(podUID);
    item.isOld = true;
  }

  release(namespace: string, name: string, podUID: string): void {
    const item = this.#items.get(`${namespace}/${name}`);
    if (item?.podUIDs.delete(podUID) && item.podUIDs.size === 0) this.#items.delete(`${namespace}/${name}`);
  }

  has(namespace: string, name: string): boolean {
    return Boolean(this.#items.get(`${namespace}/${name}`)?.known?.object);
  }

  async get(namespace: string, name: string): Promise<KeyedObject> {
    const item = this.#items.get(`${namespace}/${name}`);
    if (!item) throw notRegistered(namespace, name);
    item.reading ??= this.#read(item, namespace, name).finally(() => delete item.reading);
    const object = await item.reading;
    if (object) return object;
    throw notFound(this.#options.kind, name);
  }

  async close(): Promise<void> {
    this.#items.clear();
  }

  async #read(item: Item, namespace: string, name: string): Promise<KeyedObject | null> {
    const { client, kind, clock, ttlMs, logger } = this.#options;
    const { known } = item;
    const isFresh = known?.object && !item.isOld && clock.monotonic() - known.readAtMs < ttlMs();
    if (isFresh) return known.object;
    item.isOld = false;
    try {
      const isRefresh = Boolean(known?.object);
      const object = await getOrNull(() => getObject(client, kind, namespace, name, { isRefresh }));
      if (object && known?.object && isOlder(versionOf(object), versionOf(known.object))) return known.object;
      item.known = { object, readAtMs: clock.monotonic() };
      return object;
    } catch (err) {
      if (!known?.object) throw err;
      logger.warn(
        { object: `${namespace}/${name}`, err: messageOf(err) },
        'An object could not be read again, the last that is known is used',
      );
      return known.object;
    }
  }
}

function versionOf({ metadata }: KeyedObject): string {
  return metadata.resourceVersion ?? '';
}
