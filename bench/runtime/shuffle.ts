/** containerd keeps everything in Go maps: the order of items, and of map entries, is another on every call. */
export type Random = () => number;

/** In place (Fisher–Yates); returns its argument. */
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
