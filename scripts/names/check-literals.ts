/** Checks that values of Kubernetes that several parts act on are written in one file. Pure. */

export interface OwnedLiteral {
  /** As in the source, with its quotes. */
  readonly literal: string;
  readonly file: string;
}

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*/g;

/**
 * Returns one line for each violation.
 * @param sources the text of each file, by its path from the repository's root
 */
export function checkLiterals(sources: ReadonlyMap<string, string>, owned: readonly OwnedLiteral[]): string[] {
  const code = [...sources].map(([file, text]) => ({ file, text: text.replaceAll(comments, '') }));
  return owned.flatMap(({ literal, file: owner }) => {
    const found = code.filter(({ text }) => text.includes(literal)).map(({ file }) => file);
    if (!found.includes(owner)) return [`${owner} does not have ${literal}: correct scripts/names/owned-literals.ts`];
    return found.filter((file) => file !== owner).map((file) => `${file}: import ${literal} from ${owner}`);
  });
}
