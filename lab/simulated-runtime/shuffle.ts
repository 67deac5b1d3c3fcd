/** Random order of items and map entries, as in containerd's replies, because containerd iterates over Go maps. */
export type Random = () => number;

/** Shuffles in place (Fisher–Yates) and returns the argument. */
export function shuffle<T>(items: T[], random: Random): T[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const item = items[last]!;
    items[last] = items[other]!;
    items[other] = item;
  }
  return items;
}

export function shuffledMap(map: Readonly<Record<string, string>>, random: Random): Record<string, string> {
  return Object.fromEntries(shuffle(Object.entries(map), random));
}
