/**
 * One Secret or ConfigMap, kept up to date by a watch of its own. A GET brings it at once: a watch cache may take a moment to say that it is
 * complete. One that can never change is not watched.
 */
import type { Clock } from '../../shared/time/clock.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import { apiPath, fieldEquals, isOlder, Reflector, type ApiClient } from '../api/index.ts';
import { fetchObject, nullIfNotFound, notFound, type SecretOrConfigMap, type ObjectKind } from './object-source.ts';

export interface WatchedObjectOptions {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  /** It is another than those who asked have got, or were told that there is none. */
  readonly onChanged: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long one who asks waits for an object that is not known yet (upstream: 1 s), and when the GET is tried again meanwhile. */
const patienceMs = 1000;
/** The API server may not yet know that the pod is this node's: a matter of milliseconds. */
const retryDelaysMs = [50, 100, 200, 400];

/** What is known: null, there is no such object. */
type Known = { readonly object: SecretOrConfigMap | null } | undefined;

export class WatchedObject {
  readonly #options: WatchedObjectOptions;
  readonly #logger: Logger;
  #known: Known;
  /** Somebody was sent away without an answer. */
  #isOwed = false;
  #lastAccessMs: number;
  #reflector: Reflector<SecretOrConfigMap> | null = null;
  #stop: AbortController | null = null;
  #waiting: (() => void)[] = [];

  constructor(options: WatchedObjectOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ [options.kind.singular]: `${options.namespace}/${options.name}` });
    this.#lastAccessMs = options.clock.monotonic();
    this.#start();
  }

  /** As far as is known. */
  get exists(): boolean {
    return Boolean(this.#known?.object);
  }

  get isImmutable(): boolean {
    return this.#known?.object?.immutable === true;
  }

  /** Rejects with KubeletError `NotFound`, or `NotSynced` when a second did not tell. */
  async get(): Promise<SecretOrConfigMap> {
    const { clock, kind, name } = this.#options;
    this.#lastAccessMs = clock.monotonic();
    if (!this.#stop && !this.isImmutable) this.#start();
    if (!this.#known) await this.#wait();
    if (!this.#known) {
      this.#isOwed = true;
      throw new KubeletError('NotSynced', `failed to sync ${kind.singular} cache: timed out waiting for the condition`);
    }
    if (this.#known.object) return this.#known.object;
    throw notFound(kind, name);
  }

  /** Ends the watch of what nobody has asked for in so long; it begins anew with the next who asks. */
  stopIfIdle(maxIdleMs: number): void {
    if (!this.#known || this.isImmutable || this.#options.clock.monotonic() - this.#lastAccessMs <= maxIdleMs) return;
    void this.close();
    this.#known = undefined;
  }

  async close(): Promise<void> {
    this.#stop?.abort();
    this.#stop = null;
    const reflector = this.#reflector;
    this.#reflector = null;
    await reflector?.close();
  }

  #start(): void {
    const stop = new AbortController();
    this.#stop = stop;
    void this.#fetch(stop.signal).finally(() => {
      if (!stop.signal.aborted && !this.isImmutable) this.#watch();
    });
  }

  /** Until something is known, for as long as somebody may still wait for it. */
  async #fetch(signal: AbortSignal): Promise<void> {
    const { client, kind, namespace, name, clock } = this.#options;
    for (const delayMs of [...retryDelaysMs, 0]) {
      try {
        const object = await nullIfNotFound(() => fetchObject(client, kind, namespace, name, { signal }));
        if (!signal.aborted) this.#learn(object);
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.#logger.debug({ err: messageOf(err), retryAfterMs: delayMs }, 'Could not get an object');
        if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }

  #watch(): void {
    const { client, kind, namespace, name, clock, logger } = this.#options;
    const isThis = ({ metadata }: SecretOrConfigMap) => metadata.name === name;
    // At first a watch may lag behind what a GET has told. Later on, versions that went back are those of a cluster that was restored.
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
          this.#learn(objects.find(isThis) ?? null, mayLag);
        },
        onChange: (changes) => {
          for (const { type, object } of changes) if (isThis(object)) this.#learn(type === 'DELETED' ? null : object, mayLag);
        },
      },
      clock,
      logger,
    });
  }

  #learn(object: SecretOrConfigMap | null, mayLag = false): void {
    const before = this.#known;
    const isStale =
      mayLag && object?.metadata.uid === before?.object?.metadata.uid && isOlder(versionOf(object), versionOf(before?.object ?? null));
    if (isStale) return;
    this.#known = { object };
    for (const wake of this.#waiting.splice(0)) wake();
    if (this.isImmutable && this.#reflector) {
      this.#logger.debug('An object that cannot change is not watched any more');
      void this.close();
    }
    const isNews = before ? !isSame(before.object, object) : this.#isOwed;
    this.#isOwed = false;
    if (isNews) this.#options.onChanged();
  }

  async #wait(): Promise<void> {
    const known = Promise.withResolvers<void>();
    this.#waiting.push(known.resolve);
    const cancel = this.#options.clock.after(patienceMs, known.resolve);
    await known.promise;
    cancel();
    this.#waiting = this.#waiting.filter((wake) => wake !== known.resolve);
  }
}

function versionOf(object: SecretOrConfigMap | null): string {
  return object?.metadata.resourceVersion ?? '';
}

function isSame(a: SecretOrConfigMap | null, b: SecretOrConfigMap | null): boolean {
  return a?.metadata.uid === b?.metadata.uid && versionOf(a) === versionOf(b);
}
