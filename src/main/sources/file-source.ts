/**
 * Reads static pods from a folder of manifests, or from one file (upstream pkg/kubelet/config/file.go). Scans at the start, after
 * inotify events, and every `checkFrequencyMs`. Unlike upstream, the last valid pod of a file keeps running while the file is invalid or
 * cannot be read.
 */
import { basename, dirname, join } from 'node:path';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import { choosePods } from './choose-pods.ts';
import { FileAccess, type FileInfo } from './file-access.ts';
import { FolderWatch } from './folder-watch.ts';
import { keptPodEvents } from './kept-pods.ts';
import { readManifestFile, type ManifestFile, type ReadManifestOptions } from './manifest-file.ts';
import type { DecodeManifest, SourceError } from './manifest-source.ts';

export interface FileSourceOptions {
  /** A folder, or one manifest. */
  readonly path: string;
  readonly nodeName: string;
  readonly checkFrequencyMs: number;
  readonly decode: DecodeManifest;
  /**
   * Called with all pods after a scan that changed them, and after the first complete scan. `recreated`: the pods of manifests that were
   * removed and written again between two scans.
   */
  readonly onPods: (pods: readonly Pod[], recreated: ReadonlySet<PodUID>) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A path that does not exist cannot be watched: upstream checks every second whether the path exists. */
const unsettledPeriodMs = 1000;
/**
 * The first report ends every running pod that it does not contain. While the pool has not decoded a manifest, the first report waits, for
 * this many scans at one second each; then the manifest counts as invalid.
 */
const maxIncompleteScans = 10;
/** Manifests in the pool at a time. Bounds main's memory: a manifest can have 10 MB. */
const parallelDecodes = 4;

export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #path: string;
  readonly #files: FileAccess;
  readonly #watch: FolderWatch;
  readonly #wakeup: Wakeup;
  readonly #stop = new AbortController();
  #manifests: ReadonlyMap<string, ManifestFile> = new Map();
  /** Manifests whose removal was reported and that no scan has read since. */
  readonly #removed = new Set<string>();
  #errors: ReadonlyMap<string, string> = new Map();
  #reported: readonly Pod[] | null = null;
  #incompleteScans = 0;
  #running: Promise<void> = Promise.resolve();

  private constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = options.path.length > 1 ? options.path.replace(/\/+$/, '') : options.path;
    this.#files = new FileAccess(options.clock, this.#stop.signal);
    this.#wakeup = new Wakeup(options.clock);
    this.#watch = new FolderWatch(() => this.#wakeup.wake(), options.logger);
  }

  static start(options: FileSourceOptions): FileSource {
    const source = new FileSource(options);
    options.logger.info({ path: source.#path }, 'Watching path');
    source.#running = source.#run();
    return source;
  }

  /** The current problems, one per path. */
  errors(): SourceError[] {
    return [...this.#errors].map(([origin, message]) => ({ source: 'file', origin, message }));
  }

  /** Scans now. */
  rescan(): void {
    this.#wakeup.wake();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#watch.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { checkFrequencyMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      const isSettled = await this.#scan();
      await this.#wakeup.next(isSettled ? checkFrequencyMs : Math.min(checkFrequencyMs, unsettledPeriodMs), this.#stop.signal);
    }
  }

  /** False when the next scan should follow soon: the path does not exist, or the first report waits. Never rejects. */
  async #scan(): Promise<boolean> {
    try {
      const info = await this.#files.info(this.#path);
      if (this.#stop.signal.aborted) return false;
      await this.#ensureWatch(info);
      // Before the files are read: the next scan handles a later removal.
      this.#collectRemovals(info);
      const paths = await this.#list(info);
      const manifests = await this.#readAll(paths);
      if (this.#stop.signal.aborted) return false;
      return this.#apply(manifests, info ? [] : [[this.#path, 'path does not exist, ignoring']]) && info !== null;
    } catch (err) {
      // The manifests are unknown, so the pods stay as they are.
      this.#setErrors(new Map([...this.#errors, [this.#path, messageOf(err)]]));
      return true;
    }
  }

  /** Watches the folder; for a single file, the folder of the file, because a watch of the file ends with an atomic rename. */
  async #ensureWatch(info: FileInfo | null): Promise<void> {
    if (!info) return this.#watch.close();
    const folder = info.kind === 'folder' ? this.#path : dirname(this.#path);
    const folderInfo = info.kind === 'folder' ? info : await this.#files.info(folder);
    if (folderInfo && !this.#stop.signal.aborted) this.#watch.ensure(folder, folderInfo.identity);
  }

  #collectRemovals(info: FileInfo | null): void {
    const folder = info?.kind === 'folder' ? this.#path : dirname(this.#path);
    for (const name of this.#watch.takeRemoved()) if (this.#manifests.has(join(folder, name))) this.#removed.add(join(folder, name));
  }

  async #list(info: FileInfo | null): Promise<string[]> {
    if (!info) return [];
    if (info.kind === 'folder') return (await this.#files.list(this.#path)).map((name) => join(this.#path, name));
    if (info.kind === 'file') return [this.#path];
    throw new Error(`${basename(this.#path)} is neither a folder nor a file`);
  }

  async #readAll(paths: readonly string[]): Promise<Map<string, ManifestFile>> {
    const options: ReadManifestOptions = { ...this.#options, files: this.#files, signal: this.#stop.signal };
    const manifests = new Map<string, ManifestFile>();
    const rest = paths.values();
    let [changed, reportAt] = [0, 1];
    const readNext = async () => {
      for (const path of rest) {
        const previousFile = this.#manifests.get(path) ?? null;
        const manifest = await readManifestFile(path, previousFile, options);
        if (manifest) manifests.set(path, manifest);
        if (this.#stop.signal.aborted) return;
        if (manifest === previousFile) continue;
        changed += 1;
        if (changed < reportAt) continue;
        reportAt *= 2;
        this.#reportPartially(paths, manifests);
      }
    };
    await Promise.all(Array.from({ length: parallelDecodes }, readNext));
    return manifests;
  }

  /**
   * Reports pods after one, two, four, … changed manifests, so that the first pods of a hundred new manifests start before the last one is
   * read. Does not report while a manifest is missing: another manifest, not read yet, may contain its pod.
   */
  #reportPartially(paths: readonly string[], read: ReadonlyMap<string, ManifestFile>): void {
    if (this.#reported === null || !new Set(paths).isSupersetOf(new Set(this.#manifests.keys()))) return;
    const { pods } = choosePods(new Map([...this.#manifests, ...read]));
    this.#report(pods, new Set());
  }

  /** False when the first report waits. */
  #apply(manifests: ReadonlyMap<string, ManifestFile>, more: readonly [string, string][]): boolean {
    const recreated = this.#takeRecreated(manifests);
    const { pods, errors } = choosePods(manifests);
    for (const event of keptPodEvents(this.#manifests, manifests, pods)) this.#options.onEvent(event);
    this.#manifests = manifests;
    this.#setErrors(new Map([...errors, ...more]));
    const previouslyReported = this.#reported;
    if (
      previouslyReported === null &&
      this.#incompleteScans < maxIncompleteScans &&
      manifests.values().some(({ isUndecoded }) => isUndecoded)
    ) {
      this.#incompleteScans += 1;
      return false;
    }
    this.#report(pods, recreated);
    return true;
  }

  /** A removed manifest that is invalid now keeps its pod, and stays in `#removed` until it is valid or missing. */
  #takeRecreated(manifests: ReadonlyMap<string, ManifestFile>): Set<PodUID> {
    const recreated = new Set<PodUID>();
    for (const path of this.#removed) {
      const [previousPod, currentPod] = [this.#manifests.get(path)?.pod, manifests.get(path)];
      if (currentPod && currentPod.error !== null) continue;
      this.#removed.delete(path);
      if (previousPod && currentPod?.pod && podUID(previousPod) === podUID(currentPod.pod)) recreated.add(podUID(currentPod.pod));
    }
    return recreated;
  }

  #report(pods: readonly Pod[], recreated: ReadonlySet<PodUID>): void {
    const previouslyReported = this.#reported;
    const isSame = previouslyReported?.length === pods.length && pods.every((pod, index) => pod === previouslyReported[index]);
    if (isSame && recreated.size === 0) return;
    this.#reported = pods;
    this.#options.onPods(pods, recreated);
  }

  /** Logs an error when it appears and when it disappears, not in every scan. */
  #setErrors(errors: ReadonlyMap<string, string>): void {
    const { logger } = this.#options;
    for (const [path, error] of errors) {
      if (this.#errors.get(path) === error) continue;
      const keptPod = this.#manifests.get(path)?.pod;
      const pod = keptPod ? { keeps: `${keptPod.metadata.namespace}/${keptPod.metadata.name}` } : {};
      logger.error({ path, err: error, ...pod }, path === this.#path ? 'Unable to read config path' : 'Could not process manifest file');
    }
    for (const path of this.#errors.keys()) if (!errors.has(path)) logger.info({ path }, 'Manifest is valid again, or was removed');
    this.#errors = errors;
  }
}
