/** Runs `act` for each item with limited parallelism. Rejects with the first failure and starts no more items after it. */
export async function forEachParallel<T>(items: readonly T[], limit: number, act: (item: T) => Promise<void>): Promise<void> {
  const remaining = items.values();
  let failed = false;
  const runRemaining = async () => {
    for (const item of remaining) {
      if (failed) return;
      try {
        await act(item);
      } catch (err) {
        failed = true;
        throw err;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runRemaining));
}
