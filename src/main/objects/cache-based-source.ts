/**
 * Cache: an object is read when it is first asked for and again when it has become old (upstream cache_based_manager.go); a pod that comes
 * to refer to it has it as it is then. Without a life this is Get: every question goes to the API server.
 */
import type { Logger } from '../../shared/log/logger.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { isOlder, type ApiClient } from '../api/index.ts';
import {
  fetchObject,
  nullIfNotFound,
  notFound,
  notRegistered,
  type SecretOrConfigMap,
  type ObjectKind,
  type ObjectSource,
} from './object-source.ts';

export interface CacheBasedSourceOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  /** How long what was read is good. Null: what was read serves nobody else. */
  readonly ttlMs: (() => number) | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Item {
  readonly podUIDs: Set<string>;
  state: State;
}

/** What was read since the last pod has come: it is not to have what was asked for before. */
interface State {
  /** Null: there is no such object. */
  known?: { readonly object: SecretOrConfigMap | null; readonly readAtMs: number };
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
    return Boolean(this.#items.get(`${namespace}/${name}`)?.state.known?.object);
  }

  async get(namespace: string, name: string): Promise<SecretOrConfigMap> {
    const item = this.#items.get(`${namespace}/${name}`);
    if (!item) throw notRegistered(namespace, name);
    const { state } = item;
    state.reading ??= this.#read(state, namespace, name).finally(() => delete state.reading);
    const object = await state.reading;
    if (object) return object;
    throw notFound(this.#options.kind, name);
  }

  async close(): Promise<void> {
    this.#items.clear();
  }

  async #read(state: State, namespace: string, name: string): Promise<SecretOrConfigMap | null> {
    const { client, kind, clock, ttlMs, logger } = this.#options;
    const { known } = state;
    const kept = ttlMs && known?.object;
    if (kept && clock.monotonic() - known.readAtMs < ttlMs()) return kept;
    try {
      const object = await nullIfNotFound(() => fetchObject(client, kind, namespace, name, { isRefresh: Boolean(kept) }));
      if (object && kept && isOlder(versionOf(object), versionOf(kept))) return kept;
      state.known = { object, readAtMs: clock.monotonic() };
      return object;
    } catch (err) {
      if (!kept) throw err;
      logger.warn(
        { object: `${namespace}/${name}`, err: messageOf(err) },
        'An object could not be read again, the last that is known is used',
      );
      return kept;
    }
  }
}

function versionOf({ metadata }: SecretOrConfigMap): string {
  return metadata.resourceVersion ?? '';
}
