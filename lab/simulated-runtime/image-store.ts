/** The images of the simulated runtime. Names are resolved as in containerd: normalized references, tags, digests, IDs. */
import { createHash } from 'node:crypto';
import type { Image } from '../../src/shared/cri/generated/cri-v1.ts';

export interface StoredImage {
  readonly id: string;
  readonly references: Set<string>;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/** `nginx` → `docker.io/library/nginx:latest` (distribution/reference's familiar names). */
export function normalizeReference(name: string): string {
  const [rest = '', digest] = name.split('@');
  const slash = rest.indexOf('/');
  const first = slash < 0 ? '' : rest.slice(0, slash);
  const isDomain = first.includes('.') || first.includes(':') || first === 'localhost';
  const full = isDomain ? rest : `docker.io/${slash < 0 ? 'library/' : ''}${rest}`;
  const tagged = /:[^/]+$/.test(full);
  if (digest !== undefined) return `${full.replace(/:[^/:]+$/, '')}@${digest}`;
  return tagged ? full : `${full}:latest`;
}

function sha256(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

export class ImageStore {
  readonly #byID = new Map<string, StoredImage>();
  readonly #byReference = new Map<string, StoredImage>();

  /** Adds the image, or returns the existing one. The ID is derived from the name, so it is the same in every run. */
  add(name: string, sizeBytes: number, pinned = false): StoredImage {
    const reference = normalizeReference(name);
    const known = this.#byReference.get(reference);
    if (known) return known;
    const digest = reference.includes('@') ? reference.slice(reference.indexOf('@') + 1) : sha256(`manifest ${reference}`);
    const repository = reference.replace(/@.*$/, '').replace(/:[^/:]+$/, '');
    const image: StoredImage = {
      id: sha256(`config ${reference}`),
      references: new Set(reference.includes('@') ? [reference] : [reference, `${repository}@${digest}`]),
      digest: `${repository}@${digest}`,
      sizeBytes,
      pinned,
    };
    this.#byID.set(image.id, image);
    for (const one of image.references) this.#byReference.set(one, image);
    return image;
  }

  /** Finds an image by ID (with or without `sha256:`), tag or digest. */
  resolve(nameOrID: string): StoredImage | undefined {
    return this.#byID.get(nameOrID) ?? this.#byID.get(`sha256:${nameOrID}`) ?? this.#byReference.get(normalizeReference(nameOrID));
  }

  remove(nameOrID: string): void {
    const image = this.resolve(nameOrID);
    if (!image) return;
    this.#byID.delete(image.id);
    for (const reference of image.references) this.#byReference.delete(reference);
  }

  all(): readonly StoredImage[] {
    return [...this.#byID.values()];
  }

  clear(): void {
    this.#byID.clear();
    this.#byReference.clear();
  }
}

export function toCriImage(image: StoredImage): Image {
  const references = [...image.references];
  return {
    id: image.id,
    repoTags: references.filter((reference) => !reference.includes('@')),
    repoDigests: references.filter((reference) => reference.includes('@')),
    size: BigInt(image.sizeBytes),
    uid: undefined,
    username: '',
    spec: undefined,
    pinned: image.pinned,
  };
}
