/**
 * Keeps image garbage collection and pods that are about to start apart: an image is not removed while a request for it runs or after it was
 * given to a pod, and a request waits for a removal in progress. Otherwise the reply to a pod could name a present image that is gone when
 * its container is created.
 */
import { imageNames } from './image-names.ts';

/** Bounds the memory between two collections, which drop the entries every few minutes. */
const maxGiven = 10_000;

export class ImageUses {
  /** The number of running requests by image name. */
  readonly #pending = new Map<string, number>();
  /** Monotonic ms at which an image was last given to a pod, by the runtime's reference. */
  readonly #given = new Map<string, number>();
  #removal: { readonly names: ReadonlySet<string>; readonly done: Promise<void> } | null = null;

  /**
   * Call this before asking the runtime whether it has the image. Waits for a removal of the image that is in progress. Call the returned function when
   * the request has ended.
   */
  async begin(image: string): Promise<() => void> {
    const names = imageNames(image);
    for (const name of names) this.#pending.set(name, (this.#pending.get(name) ?? 0) + 1);
    if (this.#removal && names.some((name) => this.#removal?.names.has(name))) await this.#removal.done;
    return () => {
      for (const name of names) {
        const left = (this.#pending.get(name) ?? 1) - 1;
        if (left > 0) this.#pending.set(name, left);
        else this.#pending.delete(name);
      }
    };
  }

  /** Records that a pod may create a container from the image. */
  give(imageRef: string, nowMs: number): void {
    this.#given.delete(imageRef);
    this.#given.set(imageRef, nowMs);
    const [oldest] = this.#given.keys();
    if (this.#given.size > maxGiven && oldest !== undefined) this.#given.delete(oldest);
  }

  /** Drops the images that were given before this time. */
  forgetBefore(ms: number): void {
    for (const [imageRef, givenAtMs] of this.#given) if (givenAtMs < ms) this.#given.delete(imageRef);
  }

  /** Whether a request for the image runs, or the image was given to a pod. `names` are the image's ID, tags and digests. */
  isNeeded(names: readonly string[]): boolean {
    return names.some((name) => this.#pending.has(name) || this.#given.has(name));
  }

  /** Runs the removal of an image, unless the image is needed. Removals must not overlap. Returns false when it is needed. */
  async remove(names: readonly string[], remove: () => Promise<unknown>): Promise<boolean> {
    if (this.isNeeded(names)) return false;
    const done = Promise.withResolvers<void>();
    this.#removal = { names: new Set(names), done: done.promise };
    try {
      await remove();
      return true;
    } finally {
      this.#removal = null;
      done.resolve();
    }
  }
}
