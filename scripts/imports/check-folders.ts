/** What files of the top folders, and of the threads in `src`, import besides files of their own folder. Pure. */
import type { Import } from './find-imports.ts';

interface FolderRule {
  /** Or a file, which has a thread of its own. */
  readonly folder: string;
  readonly mayImport: readonly string[];
}

/** The first row that fits a file is its rule. Files of `test` have none: tests import everything. */
const rules: readonly FolderRule[] = [
  { folder: 'src/shared', mayImport: [] },
  // The thread of the configuration loader runs the code that main's start runs, and no other of main's (docs/decisions/029-live-reload.md).
  { folder: 'src/main/config-reload/loader-thread.ts', mayImport: ['src/main/config', 'src/shared'] },
  { folder: 'src/main', mayImport: ['src/shared'] },
  { folder: 'src/helper', mayImport: ['src/shared'] },
  { folder: 'src/workers/*', mayImport: ['src/shared'] },
  { folder: 'lab', mayImport: ['src/shared'] },
  { folder: 'bench', mayImport: ['lab', 'src', 'test/support'] },
  { folder: 'scripts', mayImport: ['lab', 'src', 'test/runner'] },
];

/** Returns a line for each import that no rule allows, and for each file of these trees without a rule. */
export function checkFolders(imports: readonly Import[]): string[] {
  return imports.flatMap(({ from, to }) => {
    const found = findRule(from);
    if (found === undefined) return from.startsWith('test/') ? [] : [`${from}: is in no folder of scripts/imports/check-folders.ts`];
    const { own, mayImport } = found;
    if ([own, ...mayImport].some((folder) => isIn(folder, to))) return [];
    const allowed = mayImport.length === 0 ? 'itself only' : `${mayImport.join(', ')} and itself only`;
    return [`${from}: imports ${to}: ${own} may import from ${allowed}`];
  });
}

/** Returns the file's folder, for example `src/workers/pleg`, with what its files may import. */
function findRule(file: string): { readonly own: string; readonly mayImport: readonly string[] } | undefined {
  for (const { folder, mayImport } of rules) {
    const own = file.split('/').slice(0, folder.split('/').length).join('/');
    if (own === folder || (folder.endsWith('/*') && own.startsWith(folder.slice(0, -1)))) return { own, mayImport };
  }
  return undefined;
}

function isIn(folder: string, file: string): boolean {
  return file.startsWith(`${folder}/`);
}
