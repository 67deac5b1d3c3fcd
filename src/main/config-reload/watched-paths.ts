/** Finds the folders to watch for changes of the configuration's files, which may be reached through symlinks, and the names in them that matter. */
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';

/** The names that matter in each folder. Null: all of them. */
export type WatchedNames = ReadonlyMap<string, ReadonlySet<string> | null>;

export interface ConfigurationPaths {
  /** Empty: no file. */
  readonly file: string;
  /** Empty: no drop-ins. */
  readonly dropInDir: string;
}

/** The kernel's limit of symlinks in a path. */
const maxLinks = 40;
/** The kernel's limit of watches is 8192 for each user at least. */
const maxFolders = 256;

/** The result includes folders and files that do not exist. Rejects when there are too many folders. */
export async function configurationFolders({ file, dropInDir }: ConfigurationPaths): Promise<WatchedNames> {
  const folders = new Map<string, Set<string> | null>();
  const add = (watched: WatchedNames) => {
    for (const [folder, names] of watched) {
      const known = folders.get(folder);
      folders.set(folder, known === null || names === null ? null : new Set([...(known ?? []), ...names]));
    }
    if (folders.size > maxFolders) throw new Error(`the configuration's files are in more than ${maxFolders} folders`);
  };
  if (file !== '') add(await foldersOf(file));
  if (dropInDir !== '') {
    add(await foldersOf(dropInDir));
    await addTree(resolve(dropInDir), add);
  }
  return folders;
}

/** Whether a file or a link has changed since `wallMs`, by the clock of the host. */
export async function haveChangedSince(folders: WatchedNames, wallMs: number): Promise<boolean> {
  for (const [folder, names] of folders) {
    const paths = names
      ? Array.from(names, (name) => join(folder, name))
      : [folder, ...(await namesIn(folder)).map((name) => join(folder, name))];
    for (const path of paths) {
      const ctimeMs = await lstat(path).then(
        (stats) => stats.ctimeMs,
        () => 0,
      );
      if (ctimeMs >= wallMs) return true;
    }
  }
  return false;
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Adds a folder of drop-ins with its subfolders, and the targets of its symlinks. */
async function addTree(folder: string, add: (watched: WatchedNames) => void): Promise<void> {
  add(new Map([[folder, null]]));
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await addTree(path, add);
    else if (entry.isSymbolicLink()) add(await foldersOf(path));
  }
}

/**
 * Every part of a path that is a symlink may be replaced, as in the mount of a ConfigMap, where `..data` is swapped: the folder of each link is watched for
 * the link's name, and the folder of the file for its name.
 */
export async function foldersOf(path: string, readLink: (path: string) => Promise<string> = readlink): Promise<WatchedNames> {
  const folders = new Map<string, Set<string>>();
  const add = (folder: string, name: string) => folders.set(folder, (folders.get(folder) ?? new Set()).add(name));
  let pending = partsOf(resolve(path));
  let folder = '/';
  for (let links = 0; pending.length > 0 && links <= maxLinks;) {
    const [name = '', ...rest] = pending;
    const current = join(folder, name);
    const target = await readLink(current).catch(() => null);
    if (target !== null || rest.length === 0) add(folder, name);
    if (target !== null) links += 1;
    pending = target === null ? rest : [...partsOf(resolve(folder, target)), ...rest];
    folder = target === null ? current : '/';
  }
  return folders;
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== '');
}
