/** Records when each image of the runtime was first detected and last used (upstream detectImages). */
import type { Container, Image } from '../../../shared/cri/generated/cri-v1.ts';
import type { NeededImages } from '../../../shared/contracts/images.ts';
import { imageNames } from '../image-names.ts';
import type { ImageRecord } from './select-images.ts';

export interface DetectedImages {
  readonly images: readonly Image[];
  /** All containers of the runtime, in any state. */
  readonly containers: readonly Container[];
  /** The images that main needs, in addition to those of containers. */
  readonly needed: NeededImages;
  /** Whether a request for an image runs, or its image was given to a pod. */
  readonly isNeeded: (names: readonly string[]) => boolean;
  readonly nowMs: number;
}

export class ImageRecords {
  /** Monotonic ms at which the records began. */
  readonly beganMs: number;
  /** Gate RuntimeClassInImageCriApi: images are distinguished by the handler that pulled them. */
  readonly #byHandler: boolean;
  #records: Map<string, ImageRecord> | null = null;

  constructor(nowMs: number, byHandler: boolean) {
    this.beganMs = nowMs;
    this.#byHandler = byHandler;
  }

  all(): readonly ImageRecord[] {
    return [...(this.#records?.values() ?? [])];
  }

  delete(image: ImageRecord): void {
    this.#records?.delete(this.#keyOf(image.id, image.runtimeHandler));
  }

  /** Updates the records to the runtime's images. Forgets images that are gone. */
  detect({ images, containers, needed, isNeeded, nowMs }: DetectedImages): void {
    const keysInUse = new Set(containers.map((container) => this.#keyOfContainer(container)));
    const neededNames = new Set([...needed.ids, ...needed.names.flatMap(imageNames)]);
    const records = new Map<string, ImageRecord>();
    // The images of the first list were there when the records began.
    const detectedMs = this.#records ? nowMs : this.beganMs;
    for (const { id, repoTags, repoDigests, size, pinned, spec } of images) {
      const runtimeHandler = spec?.runtimeHandler ?? '';
      const key = this.#keyOf(id, runtimeHandler);
      const names = [id, ...repoTags, ...repoDigests];
      const previous = this.#records?.get(key);
      // Containers of runtimes before CRI 1.30 have a digest instead of the ID.
      const isInUse = keysInUse.has(key) || names.some((name) => keysInUse.has(name) || neededNames.has(name)) || isNeeded(names);
      records.set(key, {
        id,
        runtimeHandler,
        names,
        sizeBytes: Number(size),
        pinned,
        inUse: isInUse,
        firstDetectedMs: previous?.firstDetectedMs ?? detectedMs,
        lastUsedMs: isInUse ? nowMs : (previous?.lastUsedMs ?? -Infinity),
      });
    }
    this.#records = records;
  }

  #keyOfContainer({ imageId, imageRef, image }: Container): string {
    return this.#keyOf(imageId === '' ? imageRef : imageId, image?.runtimeHandler ?? '');
  }

  #keyOf(id: string, runtimeHandler: string): string {
    return this.#byHandler && runtimeHandler !== '' ? `${id},${runtimeHandler}` : id;
  }
}
