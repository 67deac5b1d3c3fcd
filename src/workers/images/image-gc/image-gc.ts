/**
 * Image garbage collection (upstream pkg/kubelet/images/image_gc_manager.go): removes images that were not used for a long time, and, when
 * the image filesystem is full, the least recently used ones. Owns the records of when images were detected and used; a restarted thread
 * begins new records. Main calls it every five minutes, with the images that its pods need; select-images.ts decides.
 */
import type { ImageGcPolicy, ImageGcPlan, ImageGcReply, NeededImages } from '../../../shared/contracts/images.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import { KubeletError, messageOf, toFailure } from '../../../shared/errors/kubelet-error.ts';
import { goDuration } from '../../../shared/kubernetes/go-text.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { imagesCollected } from '../../../shared/metrics/definitions/images.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ImageUses } from '../image-uses.ts';
import { formatSize } from '../../../shared/kubernetes/format-size.ts';
import type { ImageFilesystemReader } from './image-filesystem.ts';
import { ImageRecords } from './image-records.ts';
import {
  bytesToFree,
  imagesInEvictionOrder,
  isDisabled,
  isOldEnough,
  isTooOld,
  planImageGc,
  usagePercent,
  type ImageRecord,
} from './select-images.ts';

export interface ImageGCOptions {
  readonly policy: ImageGcPolicy;
  readonly runtime: CriClient['runtime'];
  readonly images: CriClient['images'];
  readonly filesystem: Pick<ImageFilesystemReader, 'read'>;
  readonly uses: ImageUses;
  /** Removes the pull records of images that the runtime no longer has. Null: there are no records. */
  readonly pruneRecords: ((presentImages: ReadonlySet<string>, beganAtMs: number) => Promise<void>) | null;
  /** Gate RuntimeClassInImageCriApi. */
  readonly byRuntimeHandler: boolean;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The result of a pass over candidates. */
interface Freed {
  removedImages: number;
  freedBytes: number;
  readonly errors: string[];
}

export class ImageGC {
  readonly #options: ImageGCOptions;
  readonly #records: ImageRecords;
  #policy: ImageGcPolicy;
  #lastCollection: Promise<unknown> = Promise.resolve();

  constructor(options: ImageGCOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#records = new ImageRecords(options.clock.monotonic(), options.byRuntimeHandler);
  }

  /** The policy applies to later collections. */
  setPolicy(policy: ImageGcPolicy): void {
    this.#policy = policy;
  }

  /** Applies the policy. Never rejects: a failure is part of the reply. */
  garbageCollect(needed: NeededImages): Promise<ImageGcReply> {
    return this.#collect(needed, (freed, nowMs) => this.#applyPolicy(freed, nowMs));
  }

  /** Removes every unused image above the minimum age. Never rejects. */
  deleteUnusedImages(needed: NeededImages): Promise<ImageGcReply> {
    return this.#collect(needed, async (freed, nowMs) => {
      this.#options.logger.info({}, 'Attempting to delete unused images');
      await this.#freeSpace(freed, Number.MAX_SAFE_INTEGER, nowMs);
    });
  }

  /** Returns what a collection would do now. Removes nothing. Rejects when the runtime does not answer. */
  plan(needed: NeededImages): Promise<ImageGcPlan> {
    return this.#serialize(async () => {
      const { clock, filesystem } = this.#options;
      const policy = this.#policy;
      const nowMs = await this.#detect(needed);
      const disk = await filesystem.read();
      const isKnown = disk.capacityBytes > 0;
      const toFreeBytes = isKnown && !isDisabled(policy) ? bytesToFree(disk, policy) : 0;
      const wallMs = (ms: number) => (Number.isFinite(ms) ? new Date(clock.now() - clock.monotonic() + ms).toISOString() : null);
      const planned = planImageGc(this.#records.all(), policy, { nowMs, recordsBeganMs: this.#records.beganMs, toFreeBytes });
      return {
        ...policy,
        ...disk,
        usagePercent: isKnown ? usagePercent(disk) : null,
        toFreeBytes,
        images: planned.map(({ image: { id, names, sizeBytes, firstDetectedMs, lastUsedMs }, verdict }) => ({
          id,
          names: names.filter((name) => name !== id),
          sizeBytes,
          firstDetected: wallMs(firstDetectedMs),
          lastUsed: wallMs(lastUsedMs),
          ...verdict,
        })),
      };
    });
  }

  async #collect(needed: NeededImages, free: (freed: Freed, nowMs: number) => Promise<void>): Promise<ImageGcReply> {
    const freed: Freed = { removedImages: 0, freedBytes: 0, errors: [] };
    const { clock, logger } = this.#options;
    try {
      await this.#serialize(async () => {
        const beganAtMs = clock.now();
        await free(freed, await this.#detect(needed));
        if (freed.removedImages > 0) {
          await this.#pruneRecords(beganAtMs).catch((err: unknown) => logger.warn({ err: messageOf(err) }, 'Failed to prune pull records'));
        }
      });
      return { removedImages: freed.removedImages, freedBytes: freed.freedBytes, failure: null };
    } catch (err) {
      return { removedImages: freed.removedImages, freedBytes: freed.freedBytes, failure: toFailure(err, 'ImageGCFailed') };
    }
  }

  /** Collections run one after another: removals must not overlap. */
  #serialize<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#lastCollection.then(run);
    this.#lastCollection = result.catch(() => {});
    return result;
  }

  /** Updates the records. Returns the monotonic ms of the detection. */
  async #detect(needed: NeededImages): Promise<number> {
    const { images, runtime, uses, deadlineMs, clock } = this.#options;
    // Main's list covers images that were given to pods before it was made. Images that were given to pods later count as in use.
    uses.forgetBefore(needed.listedAtMs);
    const [{ images: listed }, { containers }] = await Promise.all([
      images.call('listImages', {}, { deadlineMs }),
      runtime.call('listContainers', {}, { deadlineMs }),
    ]);
    const nowMs = clock.monotonic();
    this.#records.detect({ images: listed, containers, needed, isNeeded: (names) => uses.isNeeded(names), nowMs });
    return nowMs;
  }

  async #applyPolicy(freed: Freed, nowMs: number): Promise<void> {
    const { filesystem, logger } = this.#options;
    const policy = this.#policy;
    const old = imagesInEvictionOrder(this.#records.all()).filter((image) => isTooOld(image, policy, nowMs, this.#records.beganMs));
    for (const image of old) await this.#remove(image, 'age', freed);
    if (freed.errors.length > 0) {
      const age = goDuration(policy.maxAgeMs);
      throw new Error(`wanted to free images older than ${age}, encountered errors in image deletion: ${aggregate(freed.errors)}`);
    }
    if (isDisabled(policy)) return;
    const disk = await filesystem.read();
    if (disk.capacityBytes === 0) throw new KubeletError('InvalidDiskCapacity', 'invalid capacity 0 on image filesystem');
    const usage = usagePercent(disk);
    if (usage < policy.highThresholdPercent) return;
    const wanted = bytesToFree(disk, policy);
    const message = 'Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold';
    logger.info({ usage, ...policy, amountToFree: wanted }, message);
    const freedByAge = freed.freedBytes;
    await this.#freeSpace(freed, wanted, nowMs);
    const freedBySpace = freed.freedBytes - freedByAge;
    if (freedBySpace < wanted) throw new KubeletError('FreeDiskSpaceFailed', insufficient(usage, disk.capacityBytes, freedBySpace));
  }

  async #freeSpace(freed: Freed, wantedBytes: number, nowMs: number): Promise<void> {
    const startBytes = freed.freedBytes;
    for (const image of imagesInEvictionOrder(this.#records.all())) {
      if (!isOldEnough(image, this.#policy, nowMs)) continue;
      await this.#remove(image, 'space', freed);
      if (freed.freedBytes - startBytes >= wantedBytes) break;
    }
    if (freed.errors.length === 0) return;
    const bytes = freed.freedBytes - startBytes;
    throw new Error(
      `wanted to free ${wantedBytes} bytes, but freed ${bytes} bytes space with errors in image deletion: ${aggregate(freed.errors)}`,
    );
  }

  async #remove(image: ImageRecord, reason: 'age' | 'space', freed: Freed): Promise<void> {
    const { images, uses, deadlineMs, logger } = this.#options;
    const { id, runtimeHandler, names, sizeBytes } = image;
    const spec = { image: id, runtimeHandler };
    try {
      const isRemoved = await uses.remove(names, () => images.call('removeImage', { image: spec }, { deadlineMs }));
      if (!isRemoved) return;
    } catch (err) {
      freed.errors.push(messageOf(err));
      return;
    }
    logger.info({ imageID: id, names, size: sizeBytes, reason }, 'Removed image');
    this.#records.delete(image);
    imagesCollected.inc({ reason });
    freed.removedImages += 1;
    freed.freedBytes += sizeBytes;
  }

  async #pruneRecords(beganAtMs: number): Promise<void> {
    const { images, pruneRecords, deadlineMs } = this.#options;
    if (!pruneRecords) return;
    const { images: present } = await images.call('listImages', {}, { deadlineMs });
    await pruneRecords(new Set(present.flatMap(({ id, repoTags, repoDigests }) => [id, ...repoTags, ...repoDigests])), beganAtMs);
  }
}

function aggregate(errors: readonly string[]): string {
  const unique = [...new Set(errors)];
  return unique.length === 1 ? unique.join('') : `[${unique.join(', ')}]`;
}

function insufficient(usage: number, capacityBytes: number, freedBytes: number): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${usage}% of ${formatSize(capacityBytes)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
    'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.'
  );
}
