/** The image size label of the pull metric, for example `1GB-5GB`. `N/A` for an unknown size (upstream metrics.GetImageSizeBucket). */
const mebibyte = 1024 * 1024;
/** Lower bounds, largest first (upstream metrics.imageSizeBuckets). */
const sizeBuckets: readonly (readonly [aboveBytes: number, label: string])[] = [
  [100 * 1024 * mebibyte, 'GT100GB'],
  [60 * 1024 * mebibyte, '60GB-100GB'],
  [40 * 1024 * mebibyte, '40GB-60GB'],
  [30 * 1024 * mebibyte, '30GB-40GB'],
  [20 * 1024 * mebibyte, '20GB-30GB'],
  [10 * 1024 * mebibyte, '10GB-20GB'],
  [5 * 1024 * mebibyte, '5GB-10GB'],
  [1024 * mebibyte, '1GB-5GB'],
  [500 * mebibyte, '500MB-1GB'],
  [100 * mebibyte, '100MB-500MB'],
  [10 * mebibyte, '10MB-100MB'],
  [0, '0-10MB'],
];

export function imageSizeBucket(bytes: number): string {
  return sizeBuckets.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
