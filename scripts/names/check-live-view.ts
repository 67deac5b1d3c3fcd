/**
 * Checks that no file of `src` takes a single field out of the view of the live configuration, where it would become a copy that a reload does not
 * change: a part gets the whole view, or is a row of `applyToCopies` (main/wiring/start-config-reload.ts). Pure.
 */
const view = String.raw`[\w.]*\blive\.view\b`;
const alias = new RegExp(String.raw`\bconst (\w+)(?:: \w+)? = ${view};`, 'g');

/**
 * Returns one line for each violation.
 * @param sources the text of each file, by its path from the repository's root
 */
export function checkLiveView(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, text]) => {
    const aliases = [...text.matchAll(alias)].map(([, name]) => String.raw`(?<![.\w])${name}\b`);
    const copies = [view, ...aliases].flatMap((name) => [
      ...text.matchAll(new RegExp(String.raw`${name}\.(\w+)`, 'g')),
      ...text.matchAll(new RegExp(String.raw`\{([^{}]*)\} = ${name}(?!\.)`, 'g')),
    ]);
    return copies.map(
      ([, names = '']) => `${file}: ${names.trim()} would be a copy of a field that a reload changes: pass live.view as a whole`,
    );
  });
}
