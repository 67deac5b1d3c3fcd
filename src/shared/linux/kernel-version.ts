/** Compares kernel releases, to detect features of the kernel. */

/** Compares the leading numbers: `6.4.0-1-amd64` is at least `6.4`. */
export function isKernelAtLeast(release: string, minimum: string): boolean {
  const parts = (text: string) => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [actual, required] = [parts(release), parts(minimum)];
  for (let index = 0; index < required.length; index += 1) {
    const difference = (actual[index] ?? 0) - (required[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
