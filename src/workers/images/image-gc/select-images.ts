/** Selects the images that garbage collection removes (upstream pkg/kubelet/images/image_gc_manager.go). Pure. */
import type { ImageGcPolicy } from '../../../shared/contracts/images.ts';

/** What is known about an image of the runtime. Times are monotonic ms. */
export interface ImageRecord {
  readonly id: string;
  /** The handler that pulled the image (gate RuntimeClassInImageCriApi), or empty. */
  readonly runtimeHandler: string;
  /** The ID, the tags and the digests. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
  readonly inUse: boolean;
  readonly firstDetectedMs: number;
  /** −Infinity: never since the records began. */
  readonly lastUsedMs: number;
}

/** The image filesystem. */
export interface ImageFilesystem {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** Returns the images that may be removed at all, least recently used first, then first detected first. */
export function imagesInEvictionOrder(records: Iterable<ImageRecord>): ImageRecord[] {
  return [...records]
    .filter(({ inUse, pinned }) => !inUse && !pinned)
    .sort((a, b) => compare(a.lastUsedMs, b.lastUsedMs) || compare(a.firstDetectedMs, b.firstDetectedMs));
}

/**
 * Whether an image is removed for its age. `recordsBeganMs`: an image without a recorded use is not removed before the records have the
 * maximum age, because its last use may be in no record.
 */
export function isTooOld({ lastUsedMs }: ImageRecord, { maxAgeMs }: ImageGcPolicy, nowMs: number, recordsBeganMs: number): boolean {
  return maxAgeMs > 0 && nowMs - recordsBeganMs > maxAgeMs && nowMs - lastUsedMs > maxAgeMs;
}

/** Whether an image may be removed for space. A younger image may have been pulled for a container that is not created yet. */
export function isOldEnough({ firstDetectedMs }: ImageRecord, { minAgeMs }: ImageGcPolicy, nowMs: number): boolean {
  return nowMs - firstDetectedMs >= minAgeMs;
}

/** In whole percent, rounded up as upstream's integer division does. The capacity must not be 0. */
export function usagePercent({ capacityBytes, availableBytes }: ImageFilesystem): number {
  return 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

/** As upstream, a threshold of 100 percent with a maximum age still applies: usage is rounded up. */
export function isDisabled({ highThresholdPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highThresholdPercent === 100 && maxAgeMs === 0;
}

/** Returns the bytes to free to reach the low threshold; 0 below the high threshold. */
export function bytesToFree(filesystem: ImageFilesystem, { highThresholdPercent, lowThresholdPercent }: ImageGcPolicy): number {
  if (usagePercent(filesystem) < highThresholdPercent) return 0;
  const { capacityBytes, availableBytes } = filesystem;
  const wantedBytes = Math.floor((capacityBytes * (100 - lowThresholdPercent)) / 100);
  return Math.max(0, wantedBytes - Math.min(availableBytes, capacityBytes));
}

export type ImageVerdict =
  | { readonly remove: true; readonly reason: 'age' | 'space' }
  | { readonly remove: false; readonly reason: 'in use' | 'pinned' | 'younger than imageMinimumGCAge' | 'not necessary' };

export interface PlannedImage {
  readonly image: ImageRecord;
  readonly verdict: ImageVerdict;
}

/** Returns what a collection would do now, if each removal succeeded: first the candidates in their order, then the images that stay. */
export function planImageGc(
  records: readonly ImageRecord[],
  policy: ImageGcPolicy,
  { nowMs, recordsBeganMs, toFreeBytes }: { readonly nowMs: number; readonly recordsBeganMs: number; readonly toFreeBytes: number },
): PlannedImage[] {
  let freedBytes = 0;
  const candidates = imagesInEvictionOrder(records);
  const isOld = new Set(candidates.filter((image) => isTooOld(image, policy, nowMs, recordsBeganMs)));
  // Old images go first, and the space that they free counts: a collection measures the filesystem again after their removal, as upstream.
  for (const { sizeBytes } of isOld) freedBytes += sizeBytes;
  const planned = candidates.map((image): PlannedImage => {
    if (isOld.has(image)) return { image, verdict: { remove: true, reason: 'age' } };
    if (freedBytes >= toFreeBytes) return { image, verdict: { remove: false, reason: 'not necessary' } };
    if (!isOldEnough(image, policy, nowMs)) return { image, verdict: { remove: false, reason: 'younger than imageMinimumGCAge' } };
    freedBytes += image.sizeBytes;
    return { image, verdict: { remove: true, reason: 'space' } };
  });
  const kept = records
    .filter(({ inUse, pinned }) => inUse || pinned)
    .map((image): PlannedImage => ({ image, verdict: { remove: false, reason: image.inUse ? 'in use' : 'pinned' } }));
  return [...planned, ...kept];
}

/** −Infinity equals itself. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
