/** Finds the relative imports of TypeScript sources. */
import { globSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

export interface Import {
  /** Paths from the repository's root. */
  readonly from: string;
  readonly to: string;
}

/** Returns the static and dynamic imports of all files that have rules. */
export function findImports(root: string): { readonly files: readonly string[]; readonly imports: readonly Import[] } {
  const files = globSync('{src,lab,bench,scripts}/**/*.ts', { cwd: root });
  const imports = files.flatMap((from) => {
    const text = readFileSync(join(root, from), 'utf8');
    return Array.from(text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g), ([, target = '']) => ({
      from,
      to: normalize(join(from, '..', target)),
    }));
  });
  return { files, imports };
}
