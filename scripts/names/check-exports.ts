/** Compares what the files of `src` export with two rules: a name has one meaning, and an index.ts implements nothing unless a thread or process starts there. Pure. */

export interface SharedName {
  readonly name: string;
  readonly files: readonly string[];
  readonly reason: string;
}

/** The entries of threads, and of the helper process. */
const entry = /^src\/(?:workers\/[^/]+|helper)\/index\.ts$/;
const declaration =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const enum|function\*?|class|interface|type|const|let|enum) ([\w$]+)/gm;
const comments = /\/\*[\s\S]*?\*\/|\/\/.*/g;
const reExports = /export (?:type )?(?:\{[^}]*\}|\*(?: as \w+)?) from '[^']+';/g;

/**
 * Returns one line for each violation.
 * @param sources the text of each file, by its path from the repository's root
 */
export function checkExports(sources: ReadonlyMap<string, string>, sharedNames: readonly SharedName[]): string[] {
  return [...findSharedNames(sources, sharedNames), ...findImplementations(sources)];
}

function findSharedNames(sources: ReadonlyMap<string, string>, allowed: readonly SharedName[]): string[] {
  const filesOf = new Map<string, Set<string>>();
  for (const [file, text] of sources)
    for (const [, name = ''] of text.matchAll(declaration)) filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file));
  const reasonsFor = (name: string) => allowed.find((one) => one.name === name);
  const problems = [...filesOf].flatMap(([name, found]) => {
    const files = [...found].sort();
    if (files.length < 2 || reasonsFor(name)?.files.toSorted().join() === files.join()) return [];
    return [`${name} is exported by ${files.join(' and ')}: give two meanings two names, or one meaning one place`];
  });
  const unused = allowed.filter(({ name }) => (filesOf.get(name)?.size ?? 0) < 2);
  const unexplained = allowed.filter(({ reason }) => reason === '');
  return [
    ...problems,
    ...unused.map(({ name }) => `${name} is not exported twice: remove it from the names that may be`),
    ...unexplained.map(({ name }) => `${name} may be exported twice without a reason`),
  ];
}

function findImplementations(sources: ReadonlyMap<string, string>): string[] {
  return [...sources]
    .filter(
      ([file, text]) =>
        file.endsWith('/index.ts') && !entry.test(file) && text.replaceAll(comments, '').replaceAll(reExports, '').trim() !== '',
    )
    .map(([file]) => `${file} implements something: move it to a file with its name, and export that from here`);
}
