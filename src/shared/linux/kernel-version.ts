/** Which kernel this is, where a feature came with one. */

/** By the leading numbers of a release: `6.4.0-1-amd64` is at least `6.4`. */
export function isKernelAtLeast(release: string, least: string): boolean {
  const parts = (text: string) => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [have, want] = [parts(release), parts(least)];
  for (let index = 0; index < want.length; index += 1) {
    const difference = (have[index] ?? 0) - (want[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
