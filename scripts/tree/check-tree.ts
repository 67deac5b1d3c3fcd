/**
 * Compares the folders with the tree in docs/architecture.md. A line of the tree has the names of files or folders, indented below their parent, and what they are;
 * folders within them may be named in that text, with a slash behind them. Pure.
 */

/** Paths of this many parts must be in the tree, by their top folder; in other top folders none. */
const depths: Readonly<Record<string, number>> = { src: 4, lab: 2, bench: 2, scripts: 2, test: 2 };
/** Deeper lines continue the text of the line before. */
const maxIndent = 6;
const names = /^(?:[\w.-]+(?:\/[\w-]+)*(?:\/|\.ts)(?:, | {2}(?! )|(?=\s|$)))+/;
const folderInText = /(?<![\w/`])[\w-]+(?:\/[\w-]+)*\/(?![\w`*])/g;

/**
 * Returns one line for each violation.
 * @param folders the repository's folders, by their path from its root
 * @param tree the text of the tree
 */
export function checkTree(folders: readonly string[], tree: string): string[] {
  const existing = new Set(folders);
  const named = new Set<string>();
  const problems: string[] = [];
  const parents: string[] = [];
  for (const line of tree.split('\n')) {
    const indent = line.length - line.trimStart().length;
    const found = names.exec(line.trimStart())?.[0];
    if (found === undefined && indent <= maxIndent && line !== '') problems.push(`the tree has a line without a name: ${line}`);
    if (found === undefined) continue;
    const parent = parents.slice(0, indent / 2).at(-1);
    const isKnown = (path: string) => existing.has(path) || path.endsWith('.ts');
    const own = found
      .trim()
      .split(/,? +/)
      .map((name) => [parent, name.replace(/\/$/, '')].filter(Boolean).join('/'));
    parents.splice(indent / 2, Infinity, own.at(-1)!);
    for (const path of own) {
      named.add(path);
      if (!isKnown(path)) problems.push(`the tree names ${path}, which does not exist`);
    }
    // A folder in the text is within the line's folder, or within one that the text has named.
    const above = [own.at(-1)!];
    for (const [text] of line.slice(indent + found.length).matchAll(folderInText)) {
      const path = above.map((folder) => `${folder}/${text.slice(0, -1)}`).find((one) => existing.has(one));
      if (path === undefined) problems.push(`the tree names ${own.at(-1)}/${text}, which does not exist`);
      else above.push(path);
    }
    for (const path of above) named.add(path);
  }
  for (const path of named) for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) named.add(path.slice(0, at));
  const missing = folders.filter((path) => {
    const parts = path.split('/');
    return parts.length <= (depths[parts[0]!] ?? 0) && parts.at(-1) !== 'generated' && !named.has(path);
  });
  return [...problems, ...missing.map((path) => `the tree does not name ${path}`)];
}
