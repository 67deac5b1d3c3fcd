/**
 * Reports cgroups of pods that appear below the cgroups of the QoS classes, which are called levels here. The runtime can create a pod's cgroup again after
 * the kubelet has removed it, by a call that the kubelet has cancelled. Nothing else reveals such a cgroup, because the call leaves no sandbox. Main decides
 * what to do with the cgroup. Upstream lists all cgroups every two seconds.
 *
 * On cgroup v2 a level also has an event for each change of its own files, at most 100 a second. These events are ignored.
 */
import { existsSync, readdirSync, statSync, watch, type FSWatcher } from 'node:fs';
import { dirname, join } from 'node:path';
import { cgroupPath, podUIDOfCgroup, qosCgroup, type CgroupDriver } from '../../shared/cgroups/cgroup-names.ts';
import { qosClasses } from '../../shared/kubernetes/qos-class.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { listingDirectory, type CgroupHierarchy } from './cgroup-reader.ts';

export interface PodCgroupWatchOptions {
  readonly hierarchy: CgroupHierarchy;
  readonly driver: () => CgroupDriver;
  readonly cgroupRoot: string;
  /** Called with the pods whose cgroup has appeared and still exists, once a second at most. */
  readonly onAppeared: (podUIDs: readonly string[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Watched {
  readonly inode: number;
  readonly watcher: FSWatcher;
}

/** Pods that start in a burst share one report. On v1 the runtime also needs time to create a cgroup in one hierarchy after the other. */
const reportDelayMs = 1000;
/** More than a node has pods. A privileged container can create any number of cgroups; main's own listing finds the rest. */
const maxReported = 1000;

export class PodCgroupWatch {
  readonly #options: PodCgroupWatchOptions;
  /** By folder: the levels and their parent. In place of a folder that does not exist, its closest existing ancestor. */
  readonly #watched = new Map<string, Watched>();
  /** The UIDs of the pods whose cgroups have appeared since the last report, by the cgroup's folder. */
  readonly #appeared = new Map<string, string>();
  #cancelReport: (() => void) | undefined;
  #hasFailed = false;

  constructor(options: PodCgroupWatchOptions) {
    this.#options = options;
  }

  /** Watches the levels, and reports the pods in a level that was not watched before. Called with each sample, because a watched folder may be removed. */
  ensure(): void {
    // A level may be created just before its parent is watched, or removed just before the level is watched.
    while (this.#watchExisting());
  }

  close(): void {
    this.#cancelReport?.();
    for (const folder of this.#watched.keys()) this.#unwatch(folder);
  }

  #levels(): string[] {
    const { hierarchy, driver, cgroupRoot } = this.#options;
    return qosClasses.map((qos) => listingDirectory(hierarchy, cgroupPath(qosCgroup({ cgroupRoot, cgroupsPerQOS: true }, qos), driver())));
  }

  /** Returns whether other folders may have to be watched now. */
  #watchExisting(): boolean {
    const levels = this.#levels();
    // The kernel reports the removal of a cgroup only to the watch of its parent.
    const foldersToWatch = new Set([dirname(levels[0]!), ...levels].map(closestExisting));
    for (const folder of this.#watched.keys()) if (!foldersToWatch.has(folder)) this.#unwatch(folder);
    let shouldRepeat = false;
    for (const folder of foldersToWatch) {
      const inode = statSync(folder, { throwIfNoEntry: false })?.ino;
      // Another inode: the folder was removed and created again, which ends its watch.
      if (this.#watched.get(folder)?.inode === inode) continue;
      this.#unwatch(folder);
      if (inode === undefined || this.#watch(folder, inode)) shouldRepeat = true;
    }
    return shouldRepeat;
  }

  /** Returns false when the kernel refuses the watch: repeating would not help. */
  #watch(folder: string, inode: number): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        // The event is a creation or a removal: of a pod's cgroup, or of a level.
        if (event === 'rename' && name !== null && !this.#add(folder, name)) this.ensure();
      });
      watcher.on('error', (err) => void this.#fail(folder, err));
      this.#watched.set(folder, { inode, watcher });
      for (const name of readdirSync(folder)) this.#add(folder, name);
      return true;
    } catch (err) {
      return this.#fail(folder, err);
    }
  }

  #unwatch(folder: string): void {
    this.#watched.get(folder)?.watcher.close();
    this.#watched.delete(folder);
  }

  /** Logs the first failure. Returns true when the folder has only been removed meanwhile. */
  #fail(folder: string, err: unknown): boolean {
    this.#unwatch(folder);
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return true;
    if (!this.#hasFailed)
      this.#options.logger.warn(
        { err, path: folder },
        'Unable to watch the cgroups of pods: those of unknown pods are found each minute only',
      );
    this.#hasFailed = true;
    return false;
  }

  /** Adds the cgroup to the next report. Returns false when it is no cgroup of a pod. */
  #add(folder: string, name: string): boolean {
    const uid = podUIDOfCgroup(name, this.#options.driver());
    if (uid === undefined || !this.#levels().includes(folder)) return false;
    if (this.#appeared.size < maxReported) this.#appeared.set(join(folder, name), uid);
    this.#cancelReport ??= this.#options.clock.after(reportDelayMs, () => this.#report());
    return true;
  }

  #report(): void {
    this.#cancelReport = undefined;
    const existing = [...this.#appeared].filter(([folder]) => existsSync(folder)).map(([, uid]) => uid);
    this.#appeared.clear();
    if (existing.length > 0) this.#options.onAppeared(existing);
  }
}

function closestExisting(folder: string): string {
  return existsSync(folder) ? folder : closestExisting(dirname(folder));
}
