/**
 * The change detection strategy Watch: each referenced object has one watch, shared by all pods that refer to it. The watch is closed when no
 * sync has read the object for a while (upstream watch_based_manager.go): environments read an object once, volumes with each sync.
 */
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { ApiClient } from '../api/index.ts';
import { objectNotRegistered, type SecretOrConfigMap, type ObjectKind, type ObjectSource } from './object-source.ts';
import { WatchedObject } from './watched-object.ts';

export interface WatchBasedSourceOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  /** Upstream: five times syncFrequency. */
  readonly maxIdleMs: number;
  /** How long an object without references is retained for the next pod, such as `kube-root-ca.crt`, which every pod of a namespace uses. */
  readonly retentionMs: number;
  readonly onChanged: (podUIDs: ReadonlySet<string>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Item {
  readonly object: WatchedObject;
  readonly podUIDs: Set<string>;
  /** Monotonic ms at which the last reference was removed. */
  unusedSinceMs: number;
}

const sweepPeriodMs = 60_000;
/** The limit of retained objects without references. */
const maxUnused = 64;

export class WatchBasedSource implements ObjectSource {
  readonly #options: WatchBasedSourceOptions;
  readonly #items = new Map<string, Item>();
  #cancelSweep: () => void = () => {};
  #isClosed = false;

  constructor(options: WatchBasedSourceOptions) {
    this.#options = options;
  }

  addReference(namespace: string, name: string, podUID: string): void {
    if (this.#isClosed) return;
    const key = `${namespace}/${name}`;
    let item = this.#items.get(key);
    if (!item) {
      const { client, kind, clock, logger, onChanged } = this.#options;
      const podUIDs = new Set<string>();
      const object = new WatchedObject({ client, kind, namespace, name, podUID, clock, logger, onChanged: () => onChanged(podUIDs) });
      item = { object, podUIDs, unusedSinceMs: 0 };
      if (this.#items.size === 0) this.#scheduleSweep();
      this.#items.set(key, item);
    } else if (!item.podUIDs.has(podUID)) {
      item.object.addReader();
    }
    item.podUIDs.add(podUID);
  }

  deleteReference(namespace: string, name: string, podUID: string): void {
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key);
    if (!item?.podUIDs.delete(podUID) || item.podUIDs.size > 0) return;
    item.unusedSinceMs = this.#options.clock.monotonic();
    if (this.#options.retentionMs === 0 || this.#unused().length > maxUnused) this.#remove(key, item);
  }

  #unused(): [string, Item][] {
    return [...this.#items].filter(([, { podUIDs }]) => podUIDs.size === 0);
  }

  #remove(key: string, { object }: Item): void {
    this.#items.delete(key);
    void object.close();
    if (this.#items.size === 0) this.#cancelSweep();
  }

  has(namespace: string, name: string): boolean {
    return this.#items.get(`${namespace}/${name}`)?.object.exists ?? false;
  }

  async get(namespace: string, name: string): Promise<SecretOrConfigMap> {
    const item = this.#items.get(`${namespace}/${name}`);
    if (!item) throw objectNotRegistered(namespace, name);
    return item.object.get();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep();
    const items = [...this.#items.values()];
    this.#items.clear();
    await Promise.all(items.map(({ object }) => object.close()));
  }

  #scheduleSweep(): void {
    const { clock, maxIdleMs, retentionMs } = this.#options;
    this.#cancelSweep = clock.after(sweepPeriodMs, () => {
      for (const { object } of this.#items.values()) object.stopIfIdle(maxIdleMs);
      this.#scheduleSweep();
      for (const [key, item] of this.#unused()) if (clock.monotonic() - item.unusedSinceMs >= retentionMs) this.#remove(key, item);
    });
  }
}
