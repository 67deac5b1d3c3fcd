/** Finds the names that a user may have meant. Pure. */

const maxNames = 5;
/** Longer names than pods can have are not compared. */
const maxLength = 320;
/** How many characters may differ in one place: a number, and a share of the pod name's length. The smaller one counts. */
const maxDifference = { characters: 3, share: 0.4 };

/** Returns the most similar names, the best first (`scoreOf`). `wanted` and the names have the form `<namespace>/<name>`. */
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

/**
 * Lower is more similar. 0: the same pod name in another namespace. 1: one pod name contains the other. Up to 4: a few characters differ. Above 10: only the
 * beginning is the same. Infinity: not similar.
 */
function scoreOf(candidate: string, wanted: string, wantedName: string): number {
  if (wantedName === '') return Infinity;
  const name = candidate.slice(candidate.indexOf('/') + 1);
  if (name === wantedName) return 0;
  if (name.includes(wantedName) || wantedName.includes(name)) return 1;
  const prefix = sharedPrefix(candidate, wanted);
  const suffix = sharedSuffix(candidate.slice(prefix), wanted.slice(prefix));
  const difference = Math.max(candidate.length, wanted.length) - prefix - suffix;
  if (difference <= Math.min(maxDifference.characters, wantedName.length * maxDifference.share)) return 1 + difference;
  // Pods of one deployment differ only at the end.
  const sharedOfName = prefix - (wanted.length - wantedName.length);
  return sharedOfName >= wantedName.length / 2 && wantedName[sharedOfName - 1] === '-' ? 10 + difference : Infinity;
}

function sharedPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

function sharedSuffix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length += 1;
  return length;
}
