/**
 * Writes a volume's files so that a container sees either all old files or all new ones (upstream pkg/volume/util/atomic_writer.go). Each
 * version of the files has its own timestamped folder, the symlink `..data` points to the current one, and the visible names are symlinks
 * through `..data`. Programs watch `..data`, so the layout must be upstream's.
 */
import { chmod, lchown, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink } from '../blocking-fs.ts';
import { basename, dirname, join, normalize } from 'node:path';
import { createFile, type NewFile, withFolder } from './file-by-handle.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { blockingCalls } from '../../../../shared/linux/directory-calls.ts';
import { removeTree } from '../../../../shared/linux/remove-tree.ts';

export type FileProjection = NewFile;
/** By path in the volume. */
export type Payload = ReadonlyMap<string, FileProjection>;

export const dataLink = '..data';
const newDataLink = '..data_tmp';
/** Linux's PATH_MAX. */
const maxPath = 4096;
/** Linux's NAME_MAX. */
const maxName = 255;

/** Returns the path in clean form. Throws an Error when it leads out of the volume or is reserved for the writer. */
export function validatePath(path: string): string {
  if (path === '') throw new Error('invalid path: must not be empty: ""');
  if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
  if (path.length > maxPath) throw new Error(`invalid path: must be less than or equal to ${maxPath} characters`);
  const names = path.split('/');
  if (names.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`);
  if (names.some((name) => name.length > maxName))
    throw new Error(`invalid path: filenames must be less than or equal to ${maxName} characters`);
  if (names[0]?.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`);
  const clean = normalize(path).replace(/\/$/, '');
  if (clean === '.') throw new Error(`invalid path: must name a file: ${path}`);
  return clean;
}

/**
 * Makes the volume contain exactly the payload's files; writes nothing when it does already. Calls `setPermissions` before the new files
 * become visible. Only one writer may run at a time.
 */
export async function writeAtomically(dir: string, payload: Payload, setPermissions: () => Promise<void>): Promise<void> {
  const validated: Payload = new Map([...payload].map(([path, file]) => [validatePath(path), file]));
  const currentLink = await readlink(join(dir, dataLink)).catch(() => undefined);
  const oldFolder = currentLink === undefined ? undefined : join(dir, basename(currentLink));
  const outdated = oldFolder === undefined ? [] : await findOutdatedPaths(oldFolder, validated);
  if (oldFolder === undefined || outdated.length > 0 || (await hasDifferentContent(oldFolder, validated))) {
    await publish(dir, validated, setPermissions);
    await linkFiles(dir, validated);
    // Only top-level names have symlinks.
    for await (const name of iterateWithYields(outdated.filter((path) => !path.includes('/')))) await rm(join(dir, name), { force: true });
    if (oldFolder !== undefined) await removeTree(oldFolder, { calls: blockingCalls });
  } else {
    await linkFiles(dir, validated);
  }
}

async function publish(dir: string, payload: Payload, setPermissions: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(dir, `..${new Date().toISOString().slice(0, 19).replaceAll(/[-T:]/g, '_')}.`));
  try {
    await withFolder(folder, async (handlePath) => {
      await chmod(handlePath, 0o755);
      for await (const [path, file] of iterateWithYields(payload)) {
        await mkdir(dirname(join(handlePath, path)), { recursive: true });
        createFile(join(handlePath, path), file);
      }
    });
    await setPermissions();
    // A writer that died may have left this link.
    await rm(join(dir, newDataLink), { force: true });
    await symlink(basename(folder), join(dir, newDataLink));
    await rename(join(dir, newDataLink), join(dir, dataLink));
  } catch (err) {
    await removeTree(folder, { calls: blockingCalls });
    throw err;
  }
}

async function linkFiles(dir: string, payload: Payload): Promise<void> {
  const users = new Map([...payload].map(([path, { user }]) => [path.split('/', 1)[0] ?? path, user]));
  const existing = new Set(await readdir(dir));
  for await (const [name, user] of iterateWithYields(users)) if (!existing.has(name)) await linkFile(dir, name, user);
}

async function linkFile(dir: string, name: string, user: number | undefined): Promise<void> {
  const link = join(dir, name);
  await symlink(join(dataLink, name), link);
  // −1 keeps the group.
  if (user !== undefined) await lchown(link, user, -1);
}

async function hasDifferentContent(folder: string, payload: Payload): Promise<boolean> {
  for await (const [path, { content }] of iterateWithYields(payload)) {
    const currentContent = await readFile(join(folder, path)).catch(() => undefined);
    if (!currentContent?.equals(typeof content === 'string' ? Buffer.from(content) : content)) return true;
  }
  return false;
}

/** Returns the paths of files and folders that exist but are not in the payload. */
async function findOutdatedPaths(folder: string, payload: Payload): Promise<string[]> {
  const payloadPaths = new Set<string>();
  for (let path of payload.keys()) for (; path !== '.'; path = dirname(path)) payloadPaths.add(path);
  const existingPaths = await readdir(folder, { recursive: true }).catch(() => []);
  return existingPaths.filter((path) => !payloadPaths.has(path));
}
