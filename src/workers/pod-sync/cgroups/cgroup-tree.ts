/**
 * Makes, sets and removes cgroups in all hierarchies of the host: the effects, on names and values that others decide. With the systemd
 * driver the slices are made in the file system too, at the place where systemd would put them: systemd adopts what it
 * finds there when a runtime starts a scope below, but a unit reload may reset values that only the file system knows.
 *
 * Making a pod's takes some ninety calls on v1, each of microseconds in the kernel's memory: they are made on this thread at once, since a
 * trip to libuv's threads for each costs ten times the call (5 ms of CPU a pod, measured).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { CgroupFile } from './cgroup-files.ts';
import { findHierarchies, requiredV1, wantedV2, type Hierarchy } from './hierarchies.ts';

export interface CgroupTreeOptions {
  /** Where the hierarchies are mounted: /sys/fs/cgroup. */
  readonly root: string;
  readonly version: 1 | 2;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends SIGKILL to a process; false when it was gone. */
  readonly kill?: (pid: number) => boolean;
}

/** Attempts of a removal, and the first wait between them, doubling: processes that were killed take a moment to leave. */
const removalAttempts = 9;
const firstRemovalWaitMs = 10;

export class CgroupTree {
  readonly #options: CgroupTreeOptions;
  #hierarchies: readonly Hierarchy[] | undefined;

  constructor(options: CgroupTreeOptions) {
    this.#options = options;
  }

  /** `path`: below each mount, from cgroupPath(). Whether the cgroup is there with all that a pod's needs. */
  async exists(path: string): Promise<boolean> {
    const hierarchies = this.#find();
    if (this.#options.version === 2) return this.#hasControllers(path);
    const needed = hierarchies.filter(({ controllers }) => controllers.some((controller) => requiredV1.has(controller)));
    return needed.every(({ mount }) => existsSync(join(mount, path)));
  }

  /** Makes it with all its parents. One that is there is left. Rejects with the file system's error. */
  async create(path: string): Promise<void> {
    for (const { mount, controllers } of this.#find()) {
      if (this.#options.version === 2) this.#createUnified(mount, path);
      else if (controllers.includes('cpuset')) createCpuset(mount, path);
      else mkdirSync(join(mount, path), { recursive: true });
    }
  }

  /** Writes what can be written; what the kernel refuses is logged and left, as upstream: a pod with a looser limit beats none. */
  async write(path: string, files: readonly CgroupFile[]): Promise<void> {
    const hierarchies = this.#find();
    for (const { controller, file, value, optional } of files) {
      const mount = hierarchies.find(({ controllers }) => controllers.includes(controller) || controllers.includes('unified'))?.mount;
      if (mount === undefined) continue;
      const target = join(mount, path, file);
      if (optional && !existsSync(target)) continue;
      try {
        writeFileSync(target, value);
      } catch (err) {
        this.#options.logger.warn({ err, file: target, value }, 'cannot set a value of a cgroup');
      }
    }
  }

  /** A file's content without its line end; undefined when it is not there. */
  async read(path: string, controller: string, file: string): Promise<string | undefined> {
    const hierarchies = this.#find();
    const found = hierarchies.find(({ controllers }) => controllers.includes(controller) || controllers.includes('unified'));
    if (!found) return undefined;
    const target = join(found.mount, path, file);
    return existsSync(target) ? readOrEmpty(target).trim() : undefined;
  }

  /** Names of the cgroups directly below, in any hierarchy. */
  async children(path: string): Promise<string[]> {
    return [...new Set(this.#find().flatMap(({ mount }) => folders(join(mount, path))))];
  }

  /** Whether there is anything of it in any hierarchy. */
  async isAnywhere(path: string): Promise<boolean> {
    return this.#find().some(({ mount }) => existsSync(join(mount, path)));
  }

  /**
   * Kills what runs in it or below, then removes it in every hierarchy. Nothing to remove is a success. Rejects, naming
   * the folder, when it is still busy after some seconds.
   */
  async remove(path: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const roots = this.#find().map(({ mount }) => join(mount, path));
    for (let attempt = 0, waitMs = firstRemovalWaitMs; ; attempt += 1, waitMs *= 2) {
      signal.throwIfAborted();
      this.#killAll(roots);
      const failures = roots.flatMap(failureToRemove);
      if (failures.length === 0) return;
      if (attempt + 1 >= removalAttempts) throw new Error(`cannot remove the cgroup ${path}`, { cause: failures[0] });
      await clock.sleep(withJitter(waitMs, 0.5), signal);
    }
  }

  #killAll(roots: readonly string[]): void {
    const kill = this.#options.kill ?? killProcess;
    for (const pid of new Set(roots.flatMap(processesIn))) {
      if (pid <= 1 || pid === process.pid) continue;
      if (kill(pid)) this.#options.logger.info({ pid }, 'killed a process that was left in the cgroup of a pod');
    }
  }

  /** Found once: hierarchies are not mounted and unmounted under a running node. A failure is tried again. */
  #find(): readonly Hierarchy[] {
    return (this.#hierarchies ??= findHierarchies(this.#options.root, this.#options.version));
  }

  #hasControllers(path: string): boolean {
    const [atRoot, here] = [readControllers(this.#options.root), readControllers(join(this.#options.root, path))];
    return here !== undefined && wantedV2.every((controller) => !atRoot?.has(controller) || here.has(controller));
  }

  /** A controller reaches a cgroup only when each parent hands it down. */
  #createUnified(mount: string, path: string): void {
    const available = readControllers(mount);
    const enable = wantedV2.filter((controller) => available?.has(controller)).map((controller) => `+${controller}`);
    let folder = mount;
    for (const part of path.split('/').filter((name) => name !== '')) {
      for (const controller of enable) handDown(folder, controller);
      folder = join(folder, part);
      mkdirSync(folder, { recursive: true });
    }
  }
}

/** Refused when processes sit in the cgroup itself, and needless where the runtime does it: whether it is there is seen by `exists`. */
function handDown(folder: string, controller: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.subtree_control'), controller);
  } catch {}
}

/** A new cpuset has no CPUs and no memory nodes, and lets nobody in: each level gets its parent's. */
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

/** None where the folder is not there (any more). */
function folders(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}

function processesIn(path: string): number[] {
  const here = readOrEmpty(join(path, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);
  return [...here, ...folders(path).flatMap((name) => processesIn(join(path, name)))];
}

function failureToRemove(path: string): unknown[] {
  try {
    removeTree(path);
    return [];
  } catch (err) {
    return [err];
  }
}

function removeTree(path: string): void {
  for (const name of folders(path)) removeTree(join(path, name));
  try {
    rmdirSync(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
