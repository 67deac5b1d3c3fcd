/** Validates the objects that a reflector receives, so that one malformed object affects no other object. */
import { contain } from '../../../shared/faults/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { unreadObjects } from '../../../shared/metrics/definitions/faults.ts';
import type { WatchEvent } from '../api-client.ts';
import type { ApiObject, ObjectReader } from './object-store.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { metadataOf } from './untyped-object.ts';

export class ObjectValidator<T extends ApiObject> {
  readonly #options: Pick<ReflectorOptions<T>, 'apiVersion' | 'kind' | 'accept' | 'onUnread'>;
  readonly #stored: ObjectReader<T>;
  readonly #logger: Logger;

  constructor(options: Pick<ReflectorOptions<T>, 'apiVersion' | 'kind' | 'accept' | 'onUnread'>, stored: ObjectReader<T>, logger: Logger) {
    this.#options = options;
    this.#stored = stored;
    this.#logger = logger;
  }

  /** Returns the object to store: the last accepted version if `accept` rejects this one or it was not read, null if there is none. */
  accept({ object: raw, problem }: Pick<WatchEvent<unknown>, 'object' | 'problem'>): T | null {
    const object = this.identify(raw);
    const { accept = (readObject: T) => readObject } = this.#options;
    if (!object) return null;
    const { uid } = object.metadata;
    const fault = { handler: 'reflector', logger: this.#logger, fields: { uid } };
    const accepted = contain(fault, () => (problem === undefined ? accept(object) : this.#skip(object, problem)));
    return accepted ?? this.#stored.get(uid) ?? null;
  }

  #skip(object: T, problem: string): null {
    const { name, namespace, uid } = object.metadata;
    unreadObjects.inc({ kind: this.#options.kind });
    this.#logger.error({ name, namespace, uid, err: problem }, 'Object of the API server skipped');
    this.#options.onUnread?.(object, problem);
    return null;
  }

  /** Returns the object with its apiVersion and kind, which the items of a list lack. Logs and returns null without a name or a UID. */
  identify(raw: unknown): T | null {
    const { name, namespace, uid } = metadataOf(raw);
    if (typeof name !== 'string' || name === '' || typeof uid !== 'string' || uid === '') {
      this.#logger.error({ name, namespace, uid }, 'An object without a name or a UID is ignored');
      return null;
    }
    const { apiVersion, kind } = this.#options;
    const object = raw as T & { readonly apiVersion?: string; readonly kind?: string };
    return object.kind === undefined || object.apiVersion === undefined ? { ...object, apiVersion, kind } : object;
  }
}
