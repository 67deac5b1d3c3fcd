/**
 * Samples the usage of each measured cgroup into the usage table, once per housekeeping period. Updates existing rows, and frees the rows of cgroups that are
 * gone. The only writer of the rows of cgroups.
 */
import { dirname } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { MachineRow } from '../../shared/state/machine-table.ts';
import type { NodeFilesystem } from '../../shared/state/node-filesystem-table.ts';
import { maxIoBytes, maxNetworkBytes, ownerOf } from '../../shared/state/node-texts-table.ts';
import type { NodeTasks } from '../../shared/state/node-tasks-table.ts';
import { RuntimeSnapshotReader, type SnapshotItem } from '../../shared/state/runtime-snapshot.ts';
import { TableFullError } from '../../shared/state/typed-table.ts';
import { isMeasured, unknownUsage, UsageWriter, type CgroupIdentity } from '../../shared/state/usage-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { CgroupCatalog, type CgroupCatalogOptions, type PodName } from './cgroup-catalog.ts';
import { HandleBudget } from './cgroup-file.ts';
import { createCgroupReader, listingDirectory, type CgroupLimits, type CgroupReader, type CgroupValues } from './cgroup-reader.ts';
import { computeNanoCores } from './compute-nano-cores.ts';
import { findNetworks } from './processes-below.ts';
import { ProcessDetailsSampler } from './process-details.ts';
import type { LogUsage } from './read-log-usage.ts';
import { countLines } from './parse-cgroup-files.ts';
import { noCgroup } from './runtime-stats/no-cgroup.ts';
import { WithoutCgroup, type RuntimeUsageSources } from './runtime-stats/without-cgroup.ts';
import type { MachineMemory } from './read-machine-memory.ts';

export interface UsageSamplerOptions extends CgroupCatalogOptions, RuntimeUsageSources {
  readonly usage: SharedArrayBuffer;
  readonly snapshot: SharedArrayBuffer;
  /** How many files stay open. */
  readonly maxHandles: number;
  /** The limits of the root cgroup, and its swap on v2. */
  readonly machineMemory: () => MachineMemory;
  /** Returns the usage of the interfaces in the network namespace of a process, as JSON for the table. */
  readonly readNetwork: (pid: number, maxBytes: number) => string;
  /** `/proc` */
  readonly proc: string;
  /** Undefined when the container has no log folder. */
  readonly readLogs: (pod: LoggingPod, container: string) => LogUsage | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reading this many cgroups takes one to two milliseconds. Then the sampler yields to the event loop. */
const cgroupsPerIteration = 25;
/** The kernel reports far fewer between two samples (oom-watcher.ts). */
const maxPendingKills = 10_000;
/** Limits are read with every sixth sample: once a minute. */
const samplesPerLimits = 6;

interface LoggingPod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

interface Measured {
  readonly identity: CgroupIdentity;
  readonly reader: CgroupReader;
  readonly row: number;
  limits: CgroupLimits;
  samplesUntilLimits: number;
  oomEvents: number;
  /** No process has ever run in the container's cgroup. */
  isEmpty: boolean;
  /** Parts of the last sample, from which the next one computes the CPU rate. */
  last: { readonly cpuUsageNs: bigint; readonly sampledAtMs: number; readonly cpuNanoCores: number } | undefined;
}

export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  readonly #table: UsageWriter;
  readonly #snapshot: RuntimeSnapshotReader;
  readonly #catalog: CgroupCatalog;
  readonly #handles: HandleBudget;
  readonly #measured = new Map<CgroupIdentity, Measured>();
  readonly #withoutCgroup: WithoutCgroup;
  /** The cgroups of pods, by UID. */
  #podCgroups: ReadonlyMap<string, CgroupIdentity> = new Map();
  readonly #details: ProcessDetailsSampler<CgroupIdentity>;
  /** The cgroups of kills since the last sample. */
  readonly #kills: string[] = [];
  /** The table had no place for a cgroup in this or the last sample, and that was logged. */
  #isTableFull = false;
  /** The table had no place for a cgroup in this sample. */
  #hasRefused = false;

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
    this.#table = new UsageWriter(options.usage);
    this.#snapshot = new RuntimeSnapshotReader(options.snapshot);
    this.#catalog = new CgroupCatalog(options);
    this.#withoutCgroup = new WithoutCgroup(options);
    this.#handles = new HandleBudget(options.maxHandles);
    this.#details = new ProcessDetailsSampler(options.proc);
  }

  /** Samples everything once. Resolves with the number of rows. */
  async sample(): Promise<number> {
    const { running: items, names } = this.#snapshotItems();
    const identities = this.#catalog.find(items, names);
    this.#podCgroups = new Map(identities.flatMap((identity) => (identity.kind === 'pod' ? [[identity.podUID, identity]] : [])));
    const empty = new Set([...this.#measured.values()].flatMap(({ identity, isEmpty }) => (isEmpty ? [identity.containerID] : [])));
    identities.push(...this.#withoutCgroup.find(items, identities, empty));
    this.#table.dropInherited();
    const present = new Set(identities);
    for (const identity of this.#measured.keys()) if (!present.has(identity)) this.#drop(identity);
    let added = 0;
    for (const [index, identity] of identities.entries()) {
      if (this.#measured.has(identity)) continue;
      this.#add(identity, index);
      // The first sample of a restarted kubelet adds all cgroups.
      if ((added += 1) % cgroupsPerIteration === 0) await nextIteration();
    }
    this.#isTableFull = this.#hasRefused;
    this.#hasRefused = false;
    this.#applyKills();
    await this.#details.sample(this.#measured);
    let index = 0;
    for (const measured of this.#measured.values()) {
      if ((index += 1) % cgroupsPerIteration === 0) await nextIteration();
      if (this.#store(measured)) continue;
      this.#catalog.forget(measured.identity);
      this.#drop(measured.identity);
    }
    return this.#measured.size;
  }

  /** The next sample counts a kill by the kernel in this cgroup, which may be newer than the last sample, or in the closest measured cgroup above. */
  countKill(cgroup: string): void {
    if (this.#kills.length < maxPendingKills) this.#kills.push(cgroup);
  }

  /** Returns a process of a measured container. Searches all cgroups, so call it rarely. */
  processOf(containerID: string): number | undefined {
    for (const { identity, reader } of this.#measured.values()) {
      if (identity.kind !== 'container' || identity.containerID !== containerID) continue;
      const pid = Number.parseInt(reader.readProcesses(), 10);
      return pid > 0 ? pid : undefined;
    }
    return undefined;
  }

  #applyKills(): void {
    if (this.#kills.length === 0) return;
    const withCgroup = [...this.#measured.values()].filter(({ identity }) => identity.path !== '');
    const byPath = new Map(withCgroup.map((measured) => [measured.identity.path, measured]));
    for (let path of this.#kills.splice(0)) {
      while (path !== '/' && path !== '.' && !byPath.has(path)) path = dirname(path);
      const measured = byPath.get(path);
      if (measured) measured.oomEvents += 1;
    }
  }

  setMachine(machine: MachineRow): void {
    this.#table.setMachine(machine);
  }

  setNodeFilesystems(filesystems: readonly NodeFilesystem[]): void {
    this.#table.setNodeFilesystems(filesystems);
  }

  setTasks(tasks: NodeTasks): void {
    this.#table.setTasks(tasks);
  }

  close(): void {
    for (const { reader } of this.#measured.values()) reader.close();
    this.#details.close();
  }

  /** Returns undefined when the table has no place for the cgroup. */
  #add(identity: CgroupIdentity, index: number): Measured | undefined {
    try {
      const row = this.#table.add(identity);
      const reader =
        identity.path === ''
          ? noCgroup
          : createCgroupReader(this.#options.hierarchy, identity.path, {
              handles: this.#handles,
              maxIoBytes: maxIoBytes[ownerOf(identity.kind)],
              hasSubCgroups: ['sandbox', 'container'].includes(identity.kind),
            });
      // Spreads the reads of the cgroups' limits over six samples.
      const samplesUntilLimits = index % samplesPerLimits;
      const limits = reader.readLimits();
      const measured: Measured = { identity, reader, row, limits, samplesUntilLimits, oomEvents: 0, isEmpty: false, last: undefined };
      this.#measured.set(identity, measured);
      return measured;
    } catch (err) {
      // RangeError: a text is longer than its column.
      if (!(err instanceof TableFullError || err instanceof RangeError)) throw err;
      if (!this.#isTableFull) this.#options.logger.error({ err, cgroup: identity.path }, 'Can’t store the usage of a cgroup');
      this.#isTableFull = true;
      this.#hasRefused = true;
      return undefined;
    }
  }

  #drop(identity: CgroupIdentity): void {
    const measured = this.#measured.get(identity);
    if (!measured) return;
    measured.reader.close();
    this.#table.remove(measured.row);
    this.#measured.delete(identity);
  }

  /** Samples one cgroup. Returns false when the cgroup is gone. */
  #store(measured: Measured): boolean {
    const { identity, reader, row } = measured;
    const cgroupValues = reader.read();
    if (!cgroupValues) return false;
    const hasRun = cgroupValues.cpuUsageNs > 0n;
    const pids = reader.readProcesses(hasRun);
    measured.isEmpty = identity.kind === 'container' && identity.path !== '' && !hasRun && pids === '';
    const { processes: runtimeProcesses, network: runtimeNetwork, ...runtimeValues } = this.#withoutCgroup.valuesOf(identity);
    // The zeros of an empty cgroup are not shown: the processes of the container run elsewhere.
    const overridingValues = { ...(measured.isEmpty && unknownUsage), ...runtimeValues };
    const values = { ...cgroupValues, ...overridingValues };
    const sampledAtMs = overridingValues.sampledAtMs ?? this.#options.clock.now();
    if (measured.samplesUntilLimits === 0) measured.limits = reader.readLimits();
    // Counts down to 0, and then begins again.
    measured.samplesUntilLimits = (measured.samplesUntilLimits + samplesPerLimits - 1) % samplesPerLimits;
    const { last } = measured;
    // A runtime may measure less often than the kubelet asks.
    const isSameSample = last?.sampledAtMs === sampledAtMs;
    const computedNanoCores = isSameSample ? last.cpuNanoCores : computeNanoCores(last, { cpuUsageNs: values.cpuUsageNs, sampledAtMs });
    // A runtime that has measured only once reports a rate of 0.
    const cpuNanoCores = overridingValues.cpuNanoCores || computedNanoCores;
    this.#table.put(row, {
      ...values,
      ...measured.limits,
      ...this.#rootValues(identity, cgroupValues),
      ...overridingValues,
      sampledAtMs,
      cpuNanoCores,
      // The runtime only counts the processes of a whole pod, which the sandbox's row gets.
      processes: identity.path === '' ? (runtimeProcesses ?? 0) : countLines(pids),
      ...this.#details.of(identity),
      oomEvents: measured.oomEvents,
      ...this.#logs(identity),
      network: runtimeNetwork ?? this.#network(identity, pids),
    });
    // Without a measurement the CPU time is 0: a rate that starts from 0 would count all the time before.
    measured.last = isMeasured({ values }) ? { cpuUsageNs: values.cpuUsageNs, sampledAtMs, cpuNanoCores } : undefined;
    return true;
  }

  /** The root cgroup has the machine's limits, and on v2 no file for its swap. */
  #rootValues({ kind }: CgroupIdentity, { swapBytes }: CgroupValues): Partial<CgroupLimits & CgroupValues> {
    if (kind !== 'root') return {};
    const { memoryBytes, swapBytes: swapLimit, swapUsedBytes } = this.#options.machineMemory();
    return {
      memoryLimitBytes: memoryBytes,
      memorySwapLimitBytes: swapLimit,
      swapBytes: this.#options.hierarchy.version === 2 ? swapUsedBytes : swapBytes,
    };
  }

  #network({ kind, podUID }: CgroupIdentity, pids: string): string {
    if (kind !== 'sandbox' && kind !== 'root') return '[]';
    const { readNetwork, hierarchy, proc } = this.#options;
    const pid = kind === 'root' ? 1 : Number.parseInt(pids, 10);
    const network = pid > 0 ? readNetwork(pid, maxNetworkBytes[ownerOf(kind)]) : '[]';
    const pod = kind === 'root' || network !== '[]' ? undefined : this.#podCgroups.get(podUID);
    // Nothing has ever run in a pod's cgroup without processor time, so the search is useless.
    if (!pod || this.#measured.get(pod)?.last?.cpuUsageNs === 0n) return network;
    for (const other of findNetworks(listingDirectory(hierarchy, pod.path), proc)) {
      const found = readNetwork(other, maxNetworkBytes[ownerOf(kind)]);
      if (found !== '[]') return found;
    }
    return '[]';
  }

  #logs({ kind, podUID: uid, podName: name, podNamespace: namespace, containerName }: CgroupIdentity) {
    if (kind !== 'container') return { logBytes: NaN, logInodes: NaN };
    const usage = this.#options.readLogs({ metadata: { name, namespace, uid } }, containerName);
    return { logBytes: usage?.bytes ?? NaN, logInodes: usage?.inodes ?? NaN };
  }

  /** Returns the running items by pod, and the names of all pods, even of those without running items. */
  #snapshotItems() {
    const running = new Map<PodUID, SnapshotItem[]>();
    const names = new Map<PodUID, PodName>();
    for (const item of this.#snapshot.all()) {
      const { podUID, podName, podNamespace } = item;
      names.set(podUID, { podName, podNamespace });
      if (item.state !== 'running') continue;
      const podItems = running.get(podUID);
      if (podItems) podItems.push(item);
      else running.set(podUID, [item]);
    }
    return { running, names };
  }
}
