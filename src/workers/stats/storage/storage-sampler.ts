/**
 * Measures what pods use of the node's disks, for the storage table: volumes, writable layers of running containers, pod log folders and hosts files. Owns the
 * helper processes of the stats thread. Created by the stats thread's entry.
 *
 *  - Trees of pods are walked in slices, with 5 % of a core for all of them: here on the node's own disks, in a helper process elsewhere. Mounted volumes are
 *    measured by statfs, or by their CSI driver.
 *  - The writable layers are found in the mount table. The runtime is asked only for those that are not there.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { etcHostsPath, podLogsDirectory, podsDir } from '../../../shared/kubernetes/paths.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { readFilesystemUsage } from '../../../shared/state/filesystem-usage.ts';
import { mountsBelow } from '../../../shared/linux/mountinfo.ts';
import type { VolumeStatsReply, VolumeStatsRequest } from '../../../shared/contracts/volumes.ts';
import { volumeKindsByFolder } from '../../../shared/kubernetes/volume-kind.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { HelperClient } from '../../../shared/helper-client/index.ts';
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';
import { RuntimeSnapshotReader, type SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';
import { volumeMetricCollectionDuration } from '../../../shared/metrics/definitions/volumes.ts';
import type { StorageIdentity } from '../../../shared/state/storage-table.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { readCgroupFile } from '../cgroup-file.ts';
import { readLogUsage } from '../read-log-usage.ts';
import { DriverMeasurer } from './driver-measurer.ts';
import { findVolumes, type VolumeFolder } from './find-volumes.ts';
import { LayersOfProcesses } from './layers-of-processes.ts';
import { MountMeasurer } from './mount-measurer.ts';
import { parseWritableLayers } from './parse-writable-layers.ts';
import { readFileUsage } from './read-file-usage.ts';
import { readProjects } from './read-projects.ts';
import { RuntimeLayers, type LayerUsage } from './runtime-layers.ts';
import { StorageRows } from './storage-rows.ts';
import { measureTreesHere } from './measure-trees-here.ts';
import { onNodeDisks } from './node-disks.ts';
import { TreeMeasurer, type TreeMeasurerOptions } from './tree-measurer.ts';
import type { MeasuredTree, Tree } from './tree-queue.ts';

export interface StorageSamplerOptions {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly storage: SharedArrayBuffer;
  readonly snapshot: SharedArrayBuffer;
  /** 0 or less: volumes are not measured. */
  readonly volumeStatsPeriodMs: number;
  /** The file with the projects of directories. Empty, the default: no filesystem is asked for the usage of a project. */
  readonly projectsFile?: string;
  /** Returns a process of a running container. */
  readonly processOf: (containerID: string) => number | undefined;
  /** The writable layers of all containers, from the runtime, by container ID. */
  readonly listRuntimeLayers: () => Promise<ReadonlyMap<string, LayerUsage>>;
  /** What the driver of a CSI volume says about the usage of the volume. */
  readonly askDriver: (volume: VolumeStatsRequest) => Promise<VolumeStatsReply>;
  /** `mountTable` (a file), `hangMs` and `periodMs` are replaced in tests. */
  readonly mountTable?: string;
  readonly hangMs?: number;
  readonly periodMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As often as containerd measures writable layers for upstream, and as the stats thread samples cgroups. */
const defaultPeriodMs = 10_000;
/** The slice of a walk ends after milliseconds, and statfs answers at once, unless the filesystem hangs. */
const defaultHangMs = 15_000;
/** Less than 1, so that a layer is due again with the next `find`. */
const layerPeriodShare = 0.8;
type MountedFolder = VolumeFolder & { readonly mount: NonNullable<VolumeFolder['mount']> };

export class StorageSampler {
  readonly #options: StorageSamplerOptions;
  readonly #rows: StorageRows;
  readonly #snapshot: RuntimeSnapshotReader;
  /** Walks and statfs have a helper process each, because a statfs of a dead server must not end walks. */
  readonly #walkHelper: HelperClient;
  readonly #statfsHelper: HelperClient;
  readonly #trees: TreeMeasurer;
  /** Trees on filesystems that may hang. */
  readonly #remoteTrees: TreeMeasurer;
  readonly #mounts: MountMeasurer<MountedFolder>;
  readonly #driverVolumes: DriverMeasurer<MountedFolder>;
  readonly #layersOfProcesses: LayersOfProcesses;
  readonly #runtimeLayers: RuntimeLayers;
  /** Which volume or writable layer each walked tree is, by path. */
  #identities = new Map<string, StorageIdentity>();
  /** The paths of writable layers that cannot be opened, as when the kubelet runs in a container. The runtime is asked for these layers. */
  readonly #unreadable = new Set<string>();
  /** The filesystem of the pods' folders, which contains the volumes that are no mounts. */
  #filesystem: FilesystemUsage | null = null;
  #isReadingFilesystem = false;

  constructor(options: StorageSamplerOptions) {
    const { storage, snapshot, volumeStatsPeriodMs, hangMs = defaultHangMs, clock, logger } = options;
    this.#options = options;
    this.#rows = new StorageRows(storage, logger);
    this.#snapshot = new RuntimeSnapshotReader(snapshot);
    this.#walkHelper = new HelperClient({ logger });
    this.#statfsHelper = new HelperClient({ logger });
    const measurer = {
      onMeasured: (path: string, usage: MeasuredTree) => this.#putTree(path, usage),
      onFailed: (path: string) => void (this.#identities.get(path)?.kind === 'container' && this.#unreadable.add(path)),
      clock,
      logger,
    } satisfies Omit<TreeMeasurerOptions, 'measureTrees'>;
    this.#trees = new TreeMeasurer({ ...measurer, measureTrees: measureTreesHere() });
    this.#remoteTrees = new TreeMeasurer({
      ...measurer,
      measureTrees: (request) => this.#walkHelper.call('measureTrees', request, { deadlineMs: hangMs }),
    });
    this.#layersOfProcesses = new LayersOfProcesses({
      processOf: options.processOf,
      readMounts: (pid) => readCgroupFile(`/proc/${pid}/mountinfo`),
    });
    this.#runtimeLayers = new RuntimeLayers({
      list: options.listRuntimeLayers,
      onMeasured: (identity, usage) => this.#rows.put(identity, { readAtMs: clock.now(), ...usage }),
      clock,
      logger,
    });
    this.#mounts = new MountMeasurer({
      periodMs: volumeStatsPeriodMs,
      statfs: (path) => this.#statfsHelper.call('statfs', { path }, { deadlineMs: hangMs }),
      onMeasured: (volume, usage) => {
        if (!this.#driverVolumes.measures(volume)) this.#rows.put(identityOf(volume), { ...usage, isMountPoint: true });
      },
      clock,
      logger,
    });
    this.#driverVolumes = new DriverMeasurer({
      periodMs: volumeStatsPeriodMs,
      askDriver: ({ podUID, name: specName }) => options.askDriver({ podUID, specName }),
      onMeasured: (volume, usage) => this.#rows.put(identityOf(volume), { readAtMs: clock.now(), ...usage, isMountPoint: true }),
      clock,
      logger,
    });
  }

  /** Resolves after the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.volumeStatsPeriodMs <= 0) this.#options.logger.info('Volume stats collection disabled');
    await Promise.all([this.#keepFinding(signal), this.#trees.run(signal), this.#remoteTrees.run(signal)]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#walkHelper.close(), this.#statfsHelper.close()]);
  }

  async #keepFinding(signal: AbortSignal): Promise<void> {
    const { periodMs = defaultPeriodMs, clock, logger } = this.#options;
    let failing = false;
    while (!signal.aborted) {
      try {
        await this.find();
        failing = false;
      } catch (err) {
        if (!failing) logger.error({ err, retryInMs: periodMs }, 'Can’t find the volumes and writable layers of pods');
        failing = true;
      }
      await clock.sleep(periodMs, signal).catch(() => {});
    }
  }

  /** Finds the trees and mounts to measure now, and measures the pods' log folders and hosts files. */
  async find(): Promise<void> {
    const { rootDir, volumeStatsPeriodMs, periodMs = defaultPeriodMs, mountTable: path = '/proc/self/mountinfo' } = this.#options;
    const running = [...this.#snapshot.all()].filter(({ state }) => state === 'running');
    const mountTable = readFileSync(path, 'utf8');
    this.#readFilesystem(rootDir);
    const volumes = volumeStatsPeriodMs > 0 ? await this.#findVolumes(mountTable) : [];
    const { layers, missing } = this.#findLayers(running, mountTable);
    const walked = volumes.filter(({ mount }) => mount === null);
    const mounted = volumes.filter((volume): volume is MountedFolder => volume.mount !== null);
    this.#identities = new Map([
      ...walked.map((volume): [string, StorageIdentity] => [volume.path, identityOf(volume)]),
      ...layers.map(({ path: layer, identity }): [string, StorageIdentity] => [layer, identity]),
    ]);
    const projects = readProjects(this.#options.projectsFile ?? '');
    const files = this.#findFiles(running);
    this.#rows.retain([...this.#identities.values(), ...missing, ...mounted.map(identityOf), ...files.map(({ identity }) => identity)]);
    for (const { identity, read } of files) this.#putFile(identity, read());
    const trees = [
      ...walked.map(({ path: id, podUID }): Tree => {
        const project = projects.get(id);
        return { id, path: id, podUID, periodMs: volumeStatsPeriodMs, jitter: 1, ...(project === undefined ? {} : { project }) };
      }),
      ...layers.map(({ path: id, identity: { podUID } }): Tree => ({
        id,
        path: id,
        podUID,
        periodMs: periodMs * layerPeriodShare,
        jitter: 0,
      })),
    ];
    const isOnNodeDisk = onNodeDisks(mountTable);
    const { local = [], remote = [] } = Object.groupBy(trees, ({ path: tree }) => (isOnNodeDisk(tree) ? 'local' : 'remote'));
    this.#trees.setTrees(local);
    this.#remoteTrees.setTrees(remote);
    this.#driverVolumes.measureDue(mounted.filter(({ plugin }) => volumeKindsByFolder.get(plugin)?.usage === 'driver'));
    void this.#mounts.measureDue(mounted.filter((volume) => !this.#driverVolumes.measures(volume)));
    void this.#runtimeLayers.measureDue(missing);
  }

  async #findVolumes(mountTable: string): Promise<VolumeFolder[]> {
    let folder = podsDir(this.#options.rootDir);
    try {
      folder = realpathSync(folder);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw err;
    }
    return findVolumes(folder, mountsBelow(mountTable, folder));
  }

  /** Returns the writable layers of running containers. `missing` are those that the mount table does not have, or that can't be opened. */
  #findLayers(running: readonly SnapshotItem[], mountTable: string) {
    const containers = running.filter(({ kind }) => kind === 'container');
    const foundByMount = parseWritableLayers(mountTable);
    const idsNotFound = containers.map(({ id }) => id).filter((id) => !foundByMount.has(id));
    const paths = new Map([...foundByMount, ...this.#layersOfProcesses.find(idsNotFound, mountTable)]);
    const currentPaths = new Set(paths.values());
    for (const path of this.#unreadable) if (!currentPaths.has(path)) this.#unreadable.delete(path);
    const layers: { readonly path: string; readonly identity: StorageIdentity }[] = [];
    const missing: StorageIdentity[] = [];
    for (const { podUID, containerName: name, id } of containers) {
      const identity: StorageIdentity = { kind: 'container', podUID, name, plugin: '', containerID: id as ContainerID };
      const path = paths.get(id);
      if (path === undefined || this.#unreadable.has(path)) missing.push(identity);
      else layers.push({ path, identity });
    }
    return { layers, missing };
  }

  /** Returns the log folder and the hosts file of each pod with a running sandbox. */
  #findFiles(running: readonly SnapshotItem[]) {
    const { rootDir, podLogsDir } = this.#options;
    return running
      .filter(({ kind }) => kind === 'sandbox')
      .flatMap(({ podUID, podName, podNamespace }) => {
        const common = { podUID, name: '', plugin: '', containerID: '' } as const;
        const pod = { metadata: { name: podName, namespace: podNamespace, uid: podUID } };
        return [
          { identity: { kind: 'pod-logs', ...common } as const, read: () => readLogUsage(podLogsDirectory(podLogsDir, pod)) },
          { identity: { kind: 'etc-hosts', ...common } as const, read: () => readFileUsage(etcHostsPath(rootDir, podUID)) },
        ];
      });
  }

  #putFile(identity: StorageIdentity, usage: ReturnType<typeof readFileUsage>): void {
    if (usage) this.#rows.put(identity, { readAtMs: this.#options.clock.now(), usedBytes: usage.bytes, inodesUsed: usage.inodes });
  }

  #putTree(path: string, { bytes, inodes, isLowerBound, durationMs, isFromQuota }: MeasuredTree): void {
    const identity = this.#identities.get(path);
    if (!identity) return;
    if (identity.kind === 'volume' && durationMs !== null)
      volumeMetricCollectionDuration.observe(durationMs / 1000, { metric_source: isFromQuota ? 'fsquota' : 'du' });
    const { capacityBytes = NaN, availableBytes = NaN, inodes: total = NaN, inodesFree = NaN } = this.#filesystem ?? {};
    const filesystem = identity.kind === 'volume' ? { capacityBytes, availableBytes, inodes: total, inodesFree } : {};
    this.#rows.put(identity, { readAtMs: this.#options.clock.now(), usedBytes: bytes, inodesUsed: inodes, isLowerBound, ...filesystem });
  }

  /** Does nothing while an earlier call waits, so that a filesystem that hangs occupies only one file thread. */
  #readFilesystem(rootDir: string): void {
    if (this.#isReadingFilesystem) return;
    this.#isReadingFilesystem = true;
    readFilesystemUsage(podsDir(rootDir), this.#options.clock.now())
      .then(
        (usage) => (this.#filesystem = usage),
        (err: unknown) => this.#options.logger.debug({ err }, 'Failed to measure the filesystem of the pods’ folders'),
      )
      .finally(() => (this.#isReadingFilesystem = false));
  }
}

function identityOf({ podUID, name, plugin }: VolumeFolder): StorageIdentity {
  return { kind: 'volume', podUID, name, plugin, containerID: '' };
}
