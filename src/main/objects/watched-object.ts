/**
 * Keeps one Secret or ConfigMap up to date with its own watch. A GET reads it first, because a watch cache may need a moment to become
 * complete. An immutable object is not watched, but read again for a pod that is new: another object may have its name meanwhile. Upstream:
 * objectCacheItem in pkg/kubelet/util/manager/watch_based_manager.go, which gives the former object to new pods too.
 */
import type { Clock } from '../../shared/time/clock.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import { apiPath, fieldEquals, isOlder, Reflector, type ApiClient } from '../api/index.ts';
import { fetchObject, nullIfNotFound, objectNotFound, type SecretOrConfigMap, type ObjectKind } from './object-source.ts';

export interface WatchedObjectOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  /** The first pod that refers to the object. */
  readonly podUID: string;
  /** Called when the object differs from what earlier calls of `get` returned. */
  readonly onChanged: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long `get` waits for the first read (upstream: 1 s). */
const readTimeoutMs = 1000;
/** The delays between GETs. The API server may not know the pod's binding to this node yet; that usually takes milliseconds. */
const retryDelaysMs = [50, 100, 200, 400];

/** Undefined before the first read. `object` is null when it does not exist. */
type CachedObject = { readonly object: SecretOrConfigMap | null } | undefined;

export class WatchedObject {
  readonly #options: WatchedObjectOptions;
  readonly #logger: Logger;
  #cached: CachedObject;
  /** A call of `get` has timed out: the first read must notify. */
  #hasTimedOutReader = false;
  /** A pod that is newer than the last read refers to the object. */
  #hasNewReader = false;
  /** A read that replaces a cached immutable object is under way. */
  #isReadingAgain = false;
  #lastAccessMs: number;
  #reflector: Reflector<SecretOrConfigMap> | null = null;
  #stop: AbortController | null = null;
  #waiters: (() => void)[] = [];

  constructor(options: WatchedObjectOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ [options.kind.singular]: `${options.namespace}/${options.name}` });
    this.#lastAccessMs = options.clock.monotonic();
    this.#start();
  }

  /** True when the object was read and exists. */
  get exists(): boolean {
    return Boolean(this.#cached?.object);
  }

  get isImmutable(): boolean {
    return this.#cached?.object?.immutable === true;
  }

  /** Another pod refers to the object: the next `get` does not return an immutable object that was read before. */
  addReader(): void {
    this.#hasNewReader = true;
  }

  /**
   * Rejects with KubeletError `NotFound`, or `NotSynced` when the object was not read within a second. An immutable object that cannot be read
   * again counts as unchanged, so that containers restart while the API server is away.
   */
  async get(): Promise<SecretOrConfigMap> {
    const { clock, kind, name } = this.#options;
    this.#lastAccessMs = clock.monotonic();
    if (this.isImmutable && this.#hasNewReader) this.#readAgain();
    if (!this.#stop && !this.isImmutable) this.#start();
    if (!this.#cached || this.#isReadingAgain) await this.#wait();
    if (!this.#cached) {
      this.#hasTimedOutReader = true;
      throw new KubeletError('NotSynced', `failed to sync ${kind.singular} cache: timed out waiting for the condition`);
    }
    if (this.#cached.object) return this.#cached.object;
    throw objectNotFound(kind, name);
  }

  /** Stops the watch when `get` was not called for this time. The next `get` starts it again. */
  stopIfIdle(maxIdleMs: number): void {
    if (!this.#cached || this.isImmutable || this.#options.clock.monotonic() - this.#lastAccessMs <= maxIdleMs) return;
    void this.close();
    this.#cached = undefined;
  }

  async close(): Promise<void> {
    this.#stop?.abort();
    this.#stop = null;
    const reflector = this.#reflector;
    this.#reflector = null;
    await reflector?.close();
  }

  #readAgain(): void {
    this.#stop?.abort();
    this.#isReadingAgain = true;
    this.#start();
  }

  #start(): void {
    const stop = new AbortController();
    this.#stop = stop;
    this.#hasNewReader = false;
    void this.#read(stop.signal);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const wasRead = await this.#fetch(signal);
    if (signal.aborted) return;
    if (!wasRead && this.#isReadingAgain) this.#endReadAgain();
    if (!this.isImmutable) this.#watch();
  }

  /** The cached object is used until a `get` of any pod reads it successfully. */
  #endReadAgain(): void {
    this.#isReadingAgain = false;
    this.#hasNewReader = true;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** Reads the object, with retries while a `get` may wait for it. Resolves with whether it was read. Never rejects. */
  async #fetch(signal: AbortSignal): Promise<boolean> {
    const { client, kind, namespace, name, podUID, clock } = this.#options;
    for (const delayMs of [...retryDelaysMs, 0]) {
      try {
        const object = await nullIfNotFound(() => fetchObject(client, kind, namespace, name, { signal, podUID }));
        if (!signal.aborted) this.#update(object);
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        this.#logger.debug({ err: messageOf(err), retryAfterMs: delayMs }, 'Could not get an object');
        if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) return false;
      }
    }
    return false;
  }

  #watch(): void {
    const { client, kind, namespace, name, clock, logger } = this.#options;
    const isWatchedObject = ({ metadata }: SecretOrConfigMap) => metadata.name === name;
    // The first list may be older than the GET. A later list with an older version comes from a restored cluster and counts.
    let mayLag: boolean | undefined;
    this.#reflector = Reflector.start<SecretOrConfigMap>({
      client,
      path: apiPath('api', 'v1', 'namespaces', namespace, kind.plural),
      fieldSelector: fieldEquals('metadata.name', name),
      trafficClass: 'objects',
      apiVersion: 'v1',
      kind: kind.kind,
      handler: {
        onReplace: (objects) => {
          mayLag = mayLag === undefined;
          this.#update(objects.find(isWatchedObject) ?? null, mayLag);
        },
        onChange: (changes) => {
          for (const { type, object } of changes) if (isWatchedObject(object)) this.#update(type === 'DELETED' ? null : object, mayLag);
        },
      },
      clock,
      logger,
    });
  }

  #update(object: SecretOrConfigMap | null, mayLag = false): void {
    const previousCached = this.#cached;
    const isStale =
      mayLag &&
      object?.metadata.uid === previousCached?.object?.metadata.uid &&
      isOlder(versionOf(object), versionOf(previousCached?.object ?? null));
    if (isStale) return;
    this.#cached = { object };
    this.#isReadingAgain = false;
    for (const resolve of this.#waiters.splice(0)) resolve();
    if (this.isImmutable && this.#reflector) {
      this.#logger.debug('Object is immutable, stopped watching it');
      void this.close();
    }
    const hasChanged = previousCached ? !isSame(previousCached.object, object) : this.#hasTimedOutReader;
    this.#hasTimedOutReader = false;
    if (hasChanged) this.#options.onChanged();
  }

  async #wait(): Promise<void> {
    const firstRead = Promise.withResolvers<void>();
    this.#waiters.push(firstRead.resolve);
    const cancel = this.#options.clock.after(readTimeoutMs, firstRead.resolve);
    await firstRead.promise;
    cancel();
    this.#waiters = this.#waiters.filter((resolve) => resolve !== firstRead.resolve);
  }
}

function versionOf(object: SecretOrConfigMap | null): string {
  return object?.metadata.resourceVersion ?? '';
}

function isSame(a: SecretOrConfigMap | null, b: SecretOrConfigMap | null): boolean {
  return a?.metadata.uid === b?.metadata.uid && versionOf(a) === versionOf(b);
}
