/**
 * The change detection strategies Cache and Get: reads an object on the first request and again when its TTL has expired (upstream
 * cache_based_manager.go). A new reference by a pod invalidates the cached object. Without a TTL (Get) each request reads from the API server.
 */
import type { Logger } from '../../shared/log/logger.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { isOlder, type ApiClient } from '../api/index.ts';
import {
  fetchObject,
  nullIfNotFound,
  objectNotFound,
  objectNotRegistered,
  type SecretOrConfigMap,
  type ObjectKind,
  type ObjectSource,
} from './object-source.ts';

export interface CacheBasedSourceOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  /** The TTL of cached objects; null disables caching (Get). */
  readonly ttlMs: (() => number) | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Item {
  readonly podUIDs: Set<string>;
  state: State;
}

/** The cached object. A new reference replaces the state, so that a pod does not get the result of an earlier read. */
interface State {
  /** `object` is null when it does not exist. */
  cached?: { readonly object: SecretOrConfigMap | null; readonly readAtMs: number };
  reading?: Promise<SecretOrConfigMap | null>;
}

export class CacheBasedSource implements ObjectSource {
  readonly #options: CacheBasedSourceOptions;
  readonly #items = new Map<string, Item>();

  constructor(options: CacheBasedSourceOptions) {
    this.#options = options;
  }

  addReference(namespace: string, name: string, podUID: string): void {
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key) ?? { podUIDs: new Set(), state: {} };
    this.#items.set(key, item);
    item.podUIDs.add(podUID);
    item.state = {};
  }

  deleteReference(namespace: string, name: string, podUID: string): void {
    const item = this.#items.get(`${namespace}/${name}`);
    if (item?.podUIDs.delete(podUID) && item.podUIDs.size === 0) this.#items.delete(`${namespace}/${name}`);
  }

  has(namespace: string, name: string): boolean {
    return Boolean(this.#items.get(`${namespace}/${name}`)?.state.cached?.object);
  }

  async get(namespace: string, name: string): Promise<SecretOrConfigMap> {
    const item = this.#items.get(`${namespace}/${name}`);
    if (!item) throw objectNotRegistered(namespace, name);
    const { state } = item;
    state.reading ??= this.#read(state, namespace, name).finally(() => delete state.reading);
    const object = await state.reading;
    if (object) return object;
    throw objectNotFound(this.#options.kind, name);
  }

  async close(): Promise<void> {
    this.#items.clear();
  }

  async #read(state: State, namespace: string, name: string): Promise<SecretOrConfigMap | null> {
    const { client, kind, clock, ttlMs, logger } = this.#options;
    const { cached } = state;
    const cachedObject = ttlMs && cached?.object;
    if (cachedObject && clock.monotonic() - cached.readAtMs < ttlMs()) return cachedObject;
    try {
      const object = await nullIfNotFound(() => fetchObject(client, kind, namespace, name, { isRefresh: Boolean(cachedObject) }));
      if (object && cachedObject && isOlder(versionOf(object), versionOf(cachedObject))) return cachedObject;
      state.cached = { object, readAtMs: clock.monotonic() };
      return object;
    } catch (err) {
      if (!cachedObject) throw err;
      logger.warn({ object: `${namespace}/${name}`, err: messageOf(err) }, 'Could not refresh an object, using the cached one');
      return cachedObject;
    }
  }
}

function versionOf({ metadata }: SecretOrConfigMap): string {
  return metadata.resourceVersion ?? '';
}
