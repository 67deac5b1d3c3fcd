/** Does the work for each, so many at a time, in their order. Rejects with the first failure; what is under way then goes on. */
export async function forEachConcurrently<Item>(items: Iterable<Item>, lanes: number, work: (item: Item) => Promise<void>): Promise<void> {
  const left = Iterator.from(items);
  const lane = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
