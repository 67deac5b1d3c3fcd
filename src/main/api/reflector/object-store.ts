/**
 * The local copy of a reflector's API objects, by UID and by name. An object that was deleted and recreated under the same name is another
 * object, so a name maps to at most one UID.
 */

/** The fields that every stored object has. All other fields are stored as received, including unknown ones. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
    readonly resourceVersion?: string | undefined;
  };
}

export interface ObjectChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/** Read access to the store. */
export interface ObjectReader<T> {
  readonly size: number;
  get(uid: string): T | undefined;
  /** The namespace of a cluster-scoped object is the empty string. */
  getByName(namespace: string, name: string): T | undefined;
  list(): T[];
}

export class ObjectStore<T extends ApiObject> implements ObjectReader<T> {
  #byUID = new Map<string, T>();
  #uidByName = new Map<string, string>();

  get size(): number {
    return this.#byUID.size;
  }

  get(uid: string): T | undefined {
    return this.#byUID.get(uid);
  }

  getByName(namespace: string, name: string): T | undefined {
    const uid = this.#uidByName.get(`${namespace}/${name}`);
    return uid === undefined ? undefined : this.#byUID.get(uid);
  }

  list(): T[] {
    return [...this.#byUID.values()];
  }

  /** Returns the resulting changes in order: none for a known version, two when the object replaces another of the same name. */
  set(object: T): ObjectChange<T>[] {
    const { uid, resourceVersion } = object.metadata;
    const existing = this.#byUID.get(uid);
    if (existing && resourceVersion !== undefined && existing.metadata.resourceVersion === resourceVersion) return [];
    const changes: ObjectChange<T>[] = [];
    const namesake = this.#uidByName.get(nameOf(object));
    if (namesake !== undefined && namesake !== uid) changes.push(...this.delete(this.#byUID.get(namesake)!));
    this.#byUID.set(uid, object);
    this.#uidByName.set(nameOf(object), uid);
    return [...changes, { type: existing ? 'MODIFIED' : 'ADDED', object }];
  }

  /** The change has the object's last state, as passed here. */
  delete(object: T): ObjectChange<T>[] {
    const { uid } = object.metadata;
    if (!this.#byUID.delete(uid)) return [];
    if (this.#uidByName.get(nameOf(object)) === uid) this.#uidByName.delete(nameOf(object));
    return [{ type: 'DELETED', object }];
  }

  /** Replaces the whole content. */
  replace(objects: Iterable<T>): void {
    this.#byUID = new Map();
    this.#uidByName = new Map();
    for (const object of objects) this.set(object);
  }
}

function nameOf({ metadata: { namespace = '', name } }: ApiObject): string {
  return `${namespace}/${name}`;
}
