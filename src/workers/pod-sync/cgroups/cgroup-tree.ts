/**
 * Creates, writes and removes cgroups in all hierarchies of the host. The callers decide names and values. With the systemd driver, systemd
 * creates the slices (systemd/), and a CgroupTree only completes them.
 *
 * The calls block the thread. On v1 a pod's cgroup takes about ninety calls of microseconds each, and a round trip to libuv's threads for
 * each would cost ten times as much (5 ms of CPU a pod, measured).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../shared/time/clock.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { CgroupFile } from './cgroup-files.ts';
import { findHierarchies, requiredControllersV1, podControllersV2, type Hierarchy } from './hierarchies.ts';
import { killProcesses, removeCgroup, thawAll } from './remove-cgroup.ts';
import { toByteText } from './walk-cgroups.ts';

export interface CgroupTreeOptions {
  /** The mount point of the hierarchies: /sys/fs/cgroup. */
  readonly root: string;
  readonly version: 1 | 2;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends SIGKILL to a process. Returns false when the process has exited. */
  readonly kill?: (pid: number) => boolean;
}

export interface RefusedValue {
  readonly err: unknown;
  readonly file: string;
  readonly value: string;
}

export class CgroupTree {
  readonly #options: CgroupTreeOptions;
  #hierarchies: readonly Hierarchy[] | undefined;

  constructor(options: CgroupTreeOptions) {
    this.#options = options;
  }

  /** Returns whether the cgroup exists with all controllers that a pod needs. `path` is below each mount, from cgroupPath(). */
  async exists(path: string): Promise<boolean> {
    const hierarchies = this.#findHierarchies();
    if (this.#options.version === 2) return this.#hasControllers(path);
    const needed = hierarchies.filter(({ controllers }) => controllers.some((controller) => requiredControllersV1.has(controller)));
    return needed.every(({ mount }) => existsSync(join(mount, path)));
  }

  /** Creates the cgroup and its parents unless they exist. Rejects with the file system's error. */
  async create(path: string): Promise<void> {
    for (const { mount, controllers } of this.#findHierarchies()) {
      if (this.#options.version === 2) this.#enableControllers(mount, path, (folder) => mkdirSync(folder, { recursive: true }));
      else if (controllers.includes('cpuset')) createCpuset(mount, path);
      else mkdirSync(join(mount, path), { recursive: true });
    }
  }

  /**
   * Completes a cgroup that systemd has created. v1: creates it in the hierarchies that systemd does not know. v2: enables the controllers that
   * systemd does not need (libcontainer's joinCgroups and CreateCgroupPath).
   */
  async complete(path: string): Promise<void> {
    if (this.#options.version === 1) await this.create(path);
    else this.#enableControllers(this.#options.root, path);
  }

  /**
   * Moves a process into an existing cgroup. On a hybrid host, the process stays where it is in the v2 hierarchy, as with runc. Rejects with the
   * first error.
   */
  async join(path: string, pid: number): Promise<void> {
    for (const { mount, controllers } of this.#findHierarchies()) {
      if (!controllers.includes('hybrid')) writeFileSync(join(mount, path, 'cgroup.procs'), String(pid));
    }
  }

  /** Returns the processes that are in no cgroup but the root. On v1 the hierarchy `devices` decides, as upstream. */
  async processesOfRoot(): Promise<number[]> {
    const text = (await this.read('/', 'devices', 'cgroup.procs')) ?? '';
    return text.split('\n').filter(Boolean).map(Number);
  }

  /** Writes all values. Returns those that the kernel refused. */
  async write(path: string, files: readonly CgroupFile[]): Promise<RefusedValue[]> {
    const refused: RefusedValue[] = [];
    const hierarchies = this.#findHierarchies();
    for (const { controller, file, value, optional } of files) {
      const mount = hierarchies.find(({ controllers }) => controllers.includes(controller) || controllers.includes('unified'))?.mount;
      if (mount === undefined) continue;
      const target = join(mount, path, file);
      if (optional && !existsSync(target)) continue;
      try {
        writeFileSync(target, value);
      } catch (err) {
        refused.push({ err, file: target, value });
      }
    }
    return refused;
  }

  /** Returns a file's content without its line end, or undefined when the file does not exist. */
  async read(path: string, controller: string, file: string): Promise<string | undefined> {
    const hierarchies = this.#findHierarchies();
    const hierarchy = hierarchies.find(({ controllers }) => controllers.includes(controller) || controllers.includes('unified'));
    if (!hierarchy) return undefined;
    const target = join(hierarchy.mount, path, file);
    return existsSync(target) ? readOrEmpty(target).trim() : undefined;
  }

  /** Returns whether the kernel's files have these values. A file that does not exist counts as equal: its value cannot be set. */
  async hasValues(path: string, files: readonly CgroupFile[]): Promise<boolean> {
    for (const { controller, file, value } of files) {
      const current = await this.read(path, controller, file);
      if (current !== undefined && current !== value && current !== wholePages(file, value)) return false;
    }
    return true;
  }

  /** Returns the bytes that the cgroup uses; undefined when they cannot be read. */
  async memoryUsage(path: string): Promise<number | undefined> {
    const file = this.#options.version === 1 ? 'memory.usage_in_bytes' : 'memory.current';
    const text = await this.read(path, 'memory', file);
    return text ? Number(text) : undefined;
  }

  /** Returns the names of the direct child cgroups in all hierarchies. */
  async children(path: string): Promise<string[]> {
    return [...new Set(this.#findHierarchies().flatMap(({ mount }) => childFolders(join(mount, path))))];
  }

  /** Returns whether any hierarchy has the cgroup. */
  async existsInAnyHierarchy(path: string): Promise<boolean> {
    return this.#findHierarchies().some(({ mount }) => existsSync(join(mount, path)));
  }

  /**
   * Kills all processes in the cgroup and below it, then removes it from every hierarchy. Succeeds when it does not exist. Rejects with an
   * Error that names the path when the cgroup is still busy after some seconds.
   */
  async remove(path: string, signal: AbortSignal): Promise<void> {
    await removeCgroup(path, this.#foldersOf(path), this.#options, signal);
  }

  /** Sends SIGKILL to all processes in the cgroup and below it. */
  async killAll(path: string, signal: AbortSignal): Promise<void> {
    await killProcesses(this.#foldersOf(path), this.#options, signal);
  }

  /** With v1: lets the processes in the cgroup and below it run again. */
  async thaw(path: string): Promise<void> {
    const freezer = this.#findHierarchies().filter(({ controllers }) => controllers.includes('freezer'));
    for (const { mount } of freezer) await thawAll(toByteText(join(mount, path)));
  }

  #foldersOf(path: string): string[] {
    return this.#findHierarchies().map(({ mount }) => toByteText(join(mount, path)));
  }

  /** Cached: hierarchies are not mounted or unmounted while the node runs. A failure is not cached. */
  #findHierarchies(): readonly Hierarchy[] {
    return (this.#hierarchies ??= findHierarchies(this.#options.root, this.#options.version));
  }

  /** Whether a cgroup of v2 exists, with all controllers for pods that the root has. */
  #hasControllers(path: string): boolean {
    const [atRoot, inCgroup] = [readControllers(this.#options.root), readControllers(join(this.#options.root, path))];
    return inCgroup !== undefined && podControllersV2.every((controller) => !atRoot?.has(controller) || inCgroup.has(controller));
  }

  /**
   * Enables the controllers in each parent of the cgroup: a cgroup has a controller only when every parent enables the controller in its subtree.
   * `makeFolder` is called for each level, from the top.
   */
  #enableControllers(mount: string, path: string, makeFolder: (folder: string) => void = () => {}): void {
    const available = readControllers(mount);
    const enable = podControllersV2.filter((controller) => available?.has(controller)).map((controller) => `+${controller}`);
    let folder = mount;
    for (const part of path.split('/').filter((name) => name !== '')) {
      for (const controller of enable) enableInSubtree(folder, controller);
      folder = join(folder, part);
      makeFolder(folder);
    }
  }
}

/**
 * Ignores failures: the kernel refuses when the cgroup itself has processes, and the runtime may enable the controller. `exists` checks the
 * result.
 */
function enableInSubtree(folder: string, controller: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.subtree_control'), controller);
  } catch {}
}

/** Returns the value as the kernel shows it: sizes of memory are rounded down to whole pages of 4 KiB. */
function wholePages(file: string, value: string): string {
  return file.startsWith('memory.') ? String(Math.floor(Number(value) / 4096) * 4096) : value;
}

/** A new cpuset has no CPUs and no memory nodes and accepts no process, so each level copies those of its parent. */
function createCpuset(mount: string, path: string): void {
  let folder = mount;
  for (const part of path.split('/').filter((name) => name !== '')) {
    folder = join(folder, part);
    mkdirSync(folder, { recursive: true });
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (readOrEmpty(join(folder, file)).trim() !== '') continue;
      writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file), 'utf8').trim());
    }
  }
}

/** Returns the controllers that the cgroup has; undefined when there is no such cgroup. */
function readControllers(folder: string): ReadonlySet<string> | undefined {
  const content = readOrEmpty(join(folder, 'cgroup.controllers'));
  return content === '' && !existsSync(join(folder, 'cgroup.controllers')) ? undefined : new Set(content.split(/\s+/));
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the names of the child folders; none when the folder does not exist. */
function childFolders(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}
