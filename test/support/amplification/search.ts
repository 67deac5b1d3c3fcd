/** How the amplification test finds what it needs to know with few tries. The tries are given, so that the search is tested without a cluster. */

/** Between two sizes that are tried. */
const growth = 4;

/**
 * Returns the largest size that is admitted, within a sixteenth, or 0. A larger size is never admitted when a smaller one is not.
 *
 * @param maxBytes the largest size that is tried
 */
export async function largestAdmitted(
  maxBytes: number,
  minBytes: number,
  isAdmitted: (bytes: number) => Promise<boolean>,
): Promise<number> {
  let low = 0;
  let high = minBytes;
  // Upwards: a refusal of much costs the API server an error message with all of it, and some checks compare each element with all others. Such a request goes
  // on when its client has left, and twenty of them take all memory.
  while (await isAdmitted(high)) {
    low = high;
    if (low === maxBytes) return low;
    high = Math.min(low * growth, maxBytes);
  }
  if (low === 0) return 0;
  while (high - low > Math.max(low / 16, 1)) {
    const middle = Math.floor((low + high) / 2);
    if (await isAdmitted(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns batches in which neighbours of the list, which resemble each other, are apart. */
export function toBatches<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, batch) => items.filter((_item, index) => index % count === batch));
}

/**
 * Returns the parts of a batch that miss a bound: single items, or a smallest group that only misses it together.
 *
 * @param misses resolves with the bounds that these items miss
 */
export async function bisect<T>(
  items: readonly T[],
  misses: (items: readonly T[]) => Promise<readonly string[]>,
): Promise<readonly { readonly items: readonly T[]; readonly missed: readonly string[] }[]> {
  const missed = await misses(items);
  return missed.length === 0 ? [] : halves(items, missed, misses);
}

async function halves<T>(
  items: readonly T[],
  missed: readonly string[],
  misses: (items: readonly T[]) => Promise<readonly string[]>,
): Promise<readonly { readonly items: readonly T[]; readonly missed: readonly string[] }[]> {
  if (items.length === 1) return [{ items, missed }];
  const middle = Math.ceil(items.length / 2);
  const found = [...(await bisect(items.slice(0, middle), misses)), ...(await bisect(items.slice(middle), misses))];
  return found.length > 0 ? found : [{ items, missed }];
}
