/** Calls `work` for each item, in order, with limited concurrency. Rejects with the first failure; running calls continue. */
export async function forEachConcurrently<Item>(items: Iterable<Item>, lanes: number, work: (item: Item) => Promise<void>): Promise<void> {
  const left = Iterator.from(items);
  const lane = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
