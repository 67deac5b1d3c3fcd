/**
 * Checks that no file of `src` takes a single field out of the view of the live configuration, where it would become a copy that a reload does not
 * change: a part gets the whole view, or is a row of `applyToCopies` (main/wiring/start-config-reload.ts). Pure.
 */
const field = /\blive\.view\.(\w+)/g;
const destructured = /\{([^{}]*)\} = [\w.]*\blive\.view\b/g;

/**
 * Returns one line for each violation.
 * @param sources the text of each file, by its path from the repository's root
 */
export function checkLiveView(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, text]) =>
    [...text.matchAll(field), ...text.matchAll(destructured)].map(
      ([, names = '']) => `${file}: ${names.trim()} would be a copy of a field that a reload changes: pass live.view as a whole`,
    ),
  );
}
