/** Finds the names that a user may have meant. Pure. */

const maxNames = 5;
/** Longer names than pods can have are not compared. */
const maxLength = 320;

/** The names with the same pod name, with the wanted name as a part, or with a few other characters; the most similar first. */
export function similarNames(wanted: string, names: ReadonlySet<string>): string[] {
  const text = wanted.slice(0, maxLength).toLowerCase();
  const wantedName = text.slice(text.indexOf('/') + 1);
  const scored = [...names].map((name) => ({ name, score: scoreOf(name.toLowerCase(), text, wantedName) }));
  return scored
    .filter(({ score }) => score < Infinity)
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, maxNames)
    .map(({ name }) => name);
}

function scoreOf(candidate: string, wanted: string, wantedName: string): number {
  const name = candidate.slice(candidate.indexOf('/') + 1);
  if (name === wantedName) return 0;
  if (wantedName !== '' && (name.includes(wantedName) || wantedName.includes(name))) return 1;
  // Pods of one deployment differ only at the end.
  const shared = sharedPrefix(candidate, wanted);
  return shared >= Math.max(4, Math.min(candidate.length, wanted.length) / 2) && shared > wanted.length - wantedName.length
    ? 2 + 1 / shared
    : Infinity;
}

function sharedPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
