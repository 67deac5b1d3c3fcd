/**
 * Creates the cgroup of a pod before its sandbox and removes it after the last container (upstream pkg/kubelet/cm
 * pod_container_manager_linux.go, qos_container_manager_linux.go). Keeps no state that the kernel does not have, so that a lost task or a
 * restart needs no recovery.
 */
import type { PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { CgroupChange, SyncCgroupsResult, SyncCgroupsTask } from '../../../shared/contracts/pod-sync/cgroups.ts';
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type ContainerID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { qosClass, qosClasses, type QosClass } from '../../../shared/kubernetes/qos-class.ts';
import {
  cgroupPath,
  parseCgroupName,
  podCgroup,
  podUIDOfCgroup,
  qosCgroup,
  type CgroupName,
} from '../../../shared/cgroups/cgroup-names.ts';
import { computePodCgroupResources, type CgroupResources } from '../../../shared/cgroups/cgroup-values.ts';
import { fixedQosResources } from '../../../shared/cgroups/qos-cgroups.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { cgroupManagerDuration } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import { toCgroupFiles } from './cgroup-files.ts';
import type { CgroupTree } from './cgroup-tree.ts';
import {
  memoryQosDefaults,
  partOf,
  resizableFiles,
  toDifference,
  toResizableValues,
  type PodCgroupPart,
  type PodCgroupValues,
} from './resizable-values.ts';
import { roundedForSystemd } from './systemd/unit-properties.ts';

export type PodCgroupSettings = Pick<
  PodSyncSettings,
  | 'cgroupDriver'
  | 'cgroupVersion'
  | 'cgroupRoot'
  | 'cgroupsPerQOS'
  | 'cpuCFSQuota'
  | 'cpuCFSQuotaPeriodUs'
  | 'podPidsLimit'
  | 'memoryReservationPolicy'
  | 'memoryThrottlingFactor'
  | 'featureGates'
>;

export interface PodCgroupsOptions {
  readonly settings: PodCgroupSettings;
  readonly tree: CgroupTree;
  /** The driver of `settings`. */
  readonly manager: CgroupManager;
  /** The page sizes of this host, such as `2MB`. */
  readonly hugePageSizes: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A node has fewer pods. When containers have made more cgroups than that, a later listing returns those that are left. */
const maxListedPods = 1000;

export class PodCgroups {
  readonly #options: PodCgroupsOptions;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** Returns the cgroup parent for the pod's sandbox; empty for the runtime's default. Throws when the UID cannot be part of a cgroup's name. */
  cgroupParent(pod: Pod): string {
    return this.#perQOS ? this.#path(this.#podCgroupName(pod)) : '';
  }

  /** Also returns true when the node has no pod cgroups. */
  async exists(pod: Pod): Promise<boolean> {
    return !this.#perQOS || this.#options.tree.exists(this.cgroupParent(pod));
  }

  /**
   * Creates the cgroups of the pod and of its QoS class, unless the pod's exists with its values. A kubelet that was killed may have left one without
   * them. Rejects with the error of the file system or of systemd.
   */
  async ensureExists(pod: Pod): Promise<void> {
    if (!(await this.exists(pod)) || !(await this.#hasValues(pod))) await this.create(pod);
  }

  /** Also sets the values of a cgroup that exists, since the runtime creates a missing one without values. */
  async create(pod: Pod): Promise<void> {
    if (!this.#perQOS) return;
    await this.#ensureQosCgroups();
    await this.#measure('create', () => this.#options.manager.create(this.#podCgroupName(pod), this.#resources(pod)));
  }

  async #hasValues(pod: Pod): Promise<boolean> {
    if (!this.#perQOS) return true;
    const { settings, tree } = this.#options;
    return tree.hasValues(this.cgroupParent(pod), toCgroupFiles(this.#written(this.#resources(pod)), settings.cgroupVersion, []));
  }

  /** Returns the resources as the driver writes them. */
  #written(resources: CgroupResources): CgroupResources {
    return this.#options.manager.driver === 'systemd' ? roundedForSystemd(resources) : resources;
  }

  #resources(pod: Pod): CgroupResources {
    const { settings } = this.#options;
    const hasMemoryQos = this.#hasMemoryQos;
    return computePodCgroupResources(pod, {
      enforceCPULimits: settings.cpuCFSQuota,
      cpuPeriodUs: settings.cpuCFSQuotaPeriodUs,
      podPidsLimit: settings.podPidsLimit,
      podLevelResources: settings.featureGates.PodLevelResources,
      customPeriod: settings.featureGates.CustomCPUCFSQuotaPeriod,
      reservesMemory: hasMemoryQos && settings.memoryReservationPolicy === 'TieredReservation',
      memoryThrottlingFactor: hasMemoryQos ? settings.memoryThrottlingFactor : null,
    });
  }

  get #hasMemoryQos(): boolean {
    const { cgroupVersion, featureGates } = this.#options.settings;
    return cgroupVersion === 2 && featureGates.MemoryQoS;
  }

  /** With MemoryQoS, a resize also resets the files that the pod no longer sets. */
  #resizedResources(pod: Pod): CgroupResources {
    const resources = this.#resources(pod);
    return this.#hasMemoryQos ? { ...resources, unified: { ...memoryQosDefaults, ...resources.unified } } : resources;
  }

  /** Returns the values that a resize changes; null when the node has no pod cgroups. */
  async resizableValues(pod: Pod): Promise<PodCgroupValues | null> {
    if (!this.#perQOS) return null;
    const { settings, tree } = this.#options;
    const path = this.cgroupParent(pod);
    const files = await Promise.all(
      resizableFiles[settings.cgroupVersion].map(({ controller, file }) => tree.read(path, controller, file)),
    );
    const resources = this.#written(this.#resizedResources(pod));
    const unified = await Promise.all(
      Object.keys(resources.unified ?? {}).map(async (file) => [file, await tree.read(path, 'memory', file)] as const),
    );
    return toResizableValues(files, resources, settings.cgroupVersion, Object.fromEntries(unified));
  }

  /** Returns the values that differ from the pod's; null when none differs, or there is no such cgroup. */
  async difference(pod: Pod): Promise<PodCgroupDifference | null> {
    const { cgroupVersion, cpuCFSQuotaPeriodUs } = this.#options.settings;
    const values = await this.resizableValues(pod);
    return values && toDifference(values, cpuCFSQuotaPeriodUs, cgroupVersion);
  }

  /** Sets one of the `resizableValues` as the pod has it. Rejects with the error of the file system or of systemd. */
  async setResizableValue(pod: Pod, part: PodCgroupPart): Promise<void> {
    const resources = partOf(this.#resizedResources(pod), part);
    await this.#measure('update', () => this.#options.manager.update(this.#podCgroupName(pod), resources));
  }

  /** Returns bytes; undefined when there is no cgroup. */
  async podMemoryUsage(pod: Pod): Promise<number | undefined> {
    return this.#perQOS ? this.#options.tree.memoryUsage(this.cgroupParent(pod)) : undefined;
  }

  /** Returns bytes; undefined when no cgroup below the pod's is named after the container. */
  async containerMemoryUsage(pod: Pod, id: ContainerID): Promise<number | undefined> {
    if (!this.#perQOS) return undefined;
    const path = this.cgroupParent(pod);
    const child = (await this.#options.tree.children(path)).find((name) => name.includes(id));
    return child === undefined ? undefined : this.#options.tree.memoryUsage(`${path}/${child}`);
  }

  /** Kills the processes of the pod, and leaves its cgroups to the runtime. Needs only the UID. */
  async kill(uid: PodUID, signal: AbortSignal): Promise<void> {
    if (!this.#perQOS) return;
    for (const qos of qosClasses) await this.#options.tree.killAll(this.#path(podCgroup(this.#options.settings, qos, uid)), signal);
  }

  /**
   * Lets frozen processes of the pod run, so that its containers can stop: with v1 a frozen process does not die, and a container can freeze its processes.
   * Never rejects; does nothing with v2, where frozen processes die.
   */
  async thaw(uid: PodUID): Promise<void> {
    const { settings, tree, logger } = this.#options;
    if (!this.#perQOS || settings.cgroupVersion === 2) return;
    try {
      for (const qos of qosClasses) await tree.thaw(this.#path(podCgroup(settings, qos, uid)));
    } catch (err) {
      logger.debug({ err, podUID: uid }, 'cannot thaw the cgroup of a pod');
    }
  }

  /**
   * Kills the remaining processes and removes the pod's cgroup from every QoS class. Needs only the UID. Succeeds when there is no cgroup.
   * Rejects when the cgroup is still busy after some seconds.
   */
  async remove(uid: PodUID, signal: AbortSignal): Promise<void> {
    if (!this.#perQOS) return;
    for (const qos of qosClasses) {
      const name = podCgroup(this.#options.settings, qos, uid);
      if (!(await this.#options.tree.existsInAnyHierarchy(this.#path(name)))) continue;
      await this.#measure('destroy', () => this.#options.manager.remove(name, signal));
    }
  }

  /** Sets the values of cgroups that belong to no pod. A failure does not stop the changes after it. */
  async syncCgroups({ cgroups }: SyncCgroupsTask): Promise<SyncCgroupsResult> {
    const failures: (string | null)[] = [];
    for (const change of cgroups) {
      const operation = change.create ? 'create' : 'update';
      const failure = this.#measure(operation, () => this.#sync(change)).then(() => null, describe);
      failures.push(await failure);
    }
    return { failures };
  }

  /**
   * Lists the UIDs of the pods that have a cgroup in any hierarchy, at most `maxListedPods`. A cgroup whose name no pod can have is not included: a
   * container with access to the host's cgroups has made it.
   */
  async listPods(): Promise<string[]> {
    if (!this.#perQOS) return [];
    const { settings, tree } = this.#options;
    const uids = new Set<string>();
    for (const qos of qosClasses) {
      for (const folder of await tree.children(this.#qosPath(qos))) {
        const uid = podUIDOfCgroup(folder, settings.cgroupDriver);
        if (uid !== undefined && this.#isNameOfPod(qos, uid, folder)) uids.add(uid);
      }
    }
    return [...uids].slice(0, maxListedPods);
  }

  close(): void {
    this.#options.manager.close();
  }

  async #sync({ cgroup, resources, create, memoryAtLeastUsage }: CgroupChange): Promise<void> {
    const { settings, tree, manager } = this.#options;
    const name = typeof cgroup === 'string' ? parseCgroupName(cgroup, settings.cgroupDriver) : cgroup;
    const path = this.#path(name);
    if (!(await tree.exists(path))) {
      if (!create) throw new Error(`cgroup ${JSON.stringify(name)} does not exist, or lacks controllers`);
      await manager.create(name, resources);
    }
    await manager.update(name, resources).catch(async (err: unknown) => {
      const { memoryBytes, ...others } = resources;
      const usage = (await tree.memoryUsage(path)) ?? 0;
      // The kernel refuses a memory limit below the usage.
      if (memoryBytes === undefined || usage <= memoryBytes) throw err;
      await manager.update(name, memoryAtLeastUsage ? { ...resources, memoryBytes: usage } : others);
      if (!memoryAtLeastUsage) throw err;
    });
  }

  #isNameOfPod(qos: QosClass, uid: string, folder: string): boolean {
    // A UID is also the name of the pod's folder.
    if (uid === '.' || uid === '..') return false;
    try {
      return this.#path(podCgroup(this.#options.settings, qos, uid)).endsWith(`/${folder}`);
    } catch {
      return false;
    }
  }

  get #perQOS(): boolean {
    return this.#options.settings.cgroupsPerQOS;
  }

  #podCgroupName(pod: Pod): CgroupName {
    return podCgroup(this.#options.settings, qosClass(pod), podUID(pod));
  }

  #path(name: CgroupName): string {
    return cgroupPath(name, this.#options.settings.cgroupDriver);
  }

  #qosPath(qos: QosClass): string {
    return this.#path(qosCgroup(this.#options.settings, qos));
  }

  async #measure(operation: 'create' | 'update' | 'destroy', work: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    const startedAtMs = clock.monotonic();
    try {
      await work();
    } finally {
      cgroupManagerDuration.observe((clock.monotonic() - startedAtMs) / 1000, { operation_type: operation });
    }
  }

  async #ensureQosCgroups(): Promise<void> {
    const { tree, manager, hugePageSizes, settings } = this.#options;
    const resources = fixedQosResources(hugePageSizes);
    for (const qos of qosClasses) {
      if (!(await tree.exists(this.#qosPath(qos)))) await manager.create(qosCgroup(settings, qos), resources[qos]);
    }
  }
}

/** The error with its cause, in one line. */
function describe(err: unknown): string {
  const cause = err instanceof Error && err.cause !== undefined ? `: ${messageOf(err.cause)}` : '';
  return `${messageOf(err)}${cause}`;
}
