/** Renders what the collection of images would do: a summary of the disk, and a line per image. Pure. */
import type { ImageGcPlan } from '../../../shared/contracts/images.ts';
import { formatSize } from '../../../shared/kubernetes/format-size.ts';
import { formatMs } from '../../../shared/timeline/format-duration.ts';
import { alignColumns } from '../align-columns.ts';
import { printable } from '../printable.ts';

type PlannedImage = ImageGcPlan['images'][number];

/** A name may have any length: the runtime is not trusted with the width of a terminal. */
const maxNameLength = 100;

/** Longer texts for reasons that are one word in JSON. */
const reasons: Readonly<Record<string, string>> = {
  age: 'unused for longer than imageMaximumGCAge',
  space: 'the disk is too full',
};

export function renderPlan(plan: ImageGcPlan, nowMs: number): string {
  const header = ['IMAGE', 'SIZE', 'LAST USED', 'RESULT', 'REASON'];
  const rows = plan.images.map((image) => [
    nameOf(image),
    formatSize(image.sizeBytes),
    lastUseOf(image, nowMs),
    image.remove ? 'goes' : 'stays',
    reasons[image.reason] ?? printable(image.reason),
  ]);
  return `${[...summary(plan), '', ...alignColumns([header, ...rows])].join('\n')}\n`;
}

function summary({ usagePercent, capacityBytes, highThresholdPercent, lowThresholdPercent, maxAgeMs, images, toFreeBytes }: ImageGcPlan) {
  const disk =
    usagePercent === null
      ? 'The capacity of the image filesystem is unknown.'
      : `The image filesystem is ${usagePercent}% full (of ${formatSize(capacityBytes)}).`;
  const byAge = maxAgeMs > 0 ? `those that were not used for ${formatMs(maxAgeMs)}` : null;
  const policy =
    highThresholdPercent < 100
      ? `From ${highThresholdPercent}% on, unused images are removed until it is ${lowThresholdPercent}% full${byAge === null ? '' : `, and always ${byAge}`}.`
      : byAge === null
        ? 'Images are not collected: imageGCHighThresholdPercent is 100.'
        : `Only ${byAge} are removed: imageGCHighThresholdPercent is 100.`;
  const removed = images.filter(({ remove }) => remove);
  const freedBytes = removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const result =
    `A collection would now remove ${removed.length} of ${images.length} images (${formatSize(freedBytes)}` +
    `${toFreeBytes > 0 ? ` of the ${formatSize(toFreeBytes)} that it needs` : ''}).`;
  return [disk, policy, result];
}

function nameOf({ id, names }: PlannedImage): string {
  const [first = id, ...others] = names;
  // A cut may leave half of a surrogate pair, which is no character.
  const shown = first.length > maxNameLength ? `${first.slice(0, maxNameLength).toWellFormed()}…` : first;
  // A digest is a second name of nearly every image.
  const tags = others.filter((name) => !name.includes('@'));
  return `${printable(shown)}${tags.length > 0 ? ` and ${tags.length} more` : ''}`;
}

function lastUseOf({ reason, lastUsed }: PlannedImage, nowMs: number): string {
  if (reason === 'in use') return 'now';
  return lastUsed === null ? 'unknown' : `${formatMs(nowMs - Date.parse(lastUsed))} ago`;
}
