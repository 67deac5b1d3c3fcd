/**
 * Creates the cgroup of a pod before its sandbox and removes it after the last container (upstream pkg/kubelet/cm
 * pod_container_manager_linux.go, qos_container_manager_linux.go). Keeps no state that the kernel does not have, so that a lost task or a
 * restart needs no recovery.
 */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { qosClass, type QosClass } from '../../../shared/kubernetes/qos-class.ts';
import { cgroupPath, podCgroup, podsCgroup, podUIDOfCgroup, qosCgroup, type CgroupName } from '../../../shared/linux/cgroup-names.ts';
import { minShares, computePodCgroupResources, sharesFromWeight } from '../../../shared/linux/cgroup-values.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { cgroupManagerDuration } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { isGateEnabled } from '../feature-gate-defaults.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import type { CgroupTree } from './cgroup-tree.ts';

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

/** Pods start in bursts: the shares of the Burstable class are updated once for all changes within this time. */
const qosUpdateDelayMs = 1000;
/** Large enough to never limit (upstream setHugePagesUnbounded). A power of two, which a double represents exactly. */
const unboundedBytes = 2 ** 62;

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  #cancelQosUpdate: (() => void) | undefined;

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

  /** Creates the cgroups of the pod and of its QoS class, unless the pod's exists. Rejects with the file system's error. */
  async ensureExists(pod: Pod): Promise<void> {
    if (!(await this.exists(pod))) await this.create(pod);
  }

  /** Also sets the values of a cgroup that exists, since the runtime creates a missing one without values. */
  async create(pod: Pod): Promise<void> {
    if (!this.#perQOS) return;
    await this.#ensureQosCgroups();
    const { settings, manager } = this.#options;
    const resources = computePodCgroupResources(pod, {
      enforceCPULimits: settings.cpuCFSQuota,
      cpuPeriodUs: settings.cpuCFSQuotaPeriodUs,
      podPidsLimit: settings.podPidsLimit,
      podLevelResources: isGateEnabled(settings, 'PodLevelResources'),
      customPeriod: isGateEnabled(settings, 'CustomCPUCFSQuotaPeriod'),
      reservesMemory:
        settings.cgroupVersion === 2 && isGateEnabled(settings, 'MemoryQoS') && settings.memoryReservationPolicy === 'TieredReservation',
    });
    await this.#measure('create', () => manager.create(this.#podCgroupName(pod), resources));
    if (qosClass(pod) === 'Burstable') this.#scheduleQosUpdate();
  }

  /**
   * Kills the remaining processes and removes the pod's cgroup from every QoS class. Needs only the UID. Succeeds when there is no cgroup.
   * Rejects when the cgroup is still busy after some seconds.
   */
  async remove(uid: PodUID, signal: AbortSignal): Promise<void> {
    if (!this.#perQOS) return;
    for (const qos of ['Guaranteed', 'Burstable', 'BestEffort'] as const) {
      const name = podCgroup(this.#options.settings, qos, uid);
      if (!(await this.#options.tree.existsInAnyHierarchy(this.#path(name)))) continue;
      await this.#measure('destroy', () => this.#options.manager.remove(name, signal));
      if (qos === 'Burstable') this.#scheduleQosUpdate();
    }
  }

  /** Cancels the pending update of the Burstable class, and closes the manager. */
  close(): void {
    this.#options.manager.close();
    this.#cancelQosUpdate?.();
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
    const hugePageLimits = Object.fromEntries(hugePageSizes.map((size) => [size, unboundedBytes]));
    const classes = [
      { name: podsCgroup(settings), resources: { hugePageLimits } },
      { name: qosCgroup(settings, 'Burstable'), resources: { hugePageLimits } },
      { name: qosCgroup(settings, 'BestEffort'), resources: { hugePageLimits, cpuShares: minShares } },
    ];
    for (const { name, resources } of classes) {
      if (!(await tree.exists(this.#path(name)))) await manager.create(name, resources);
    }
  }

  #scheduleQosUpdate(): void {
    const { clock, logger } = this.#options;
    if (this.#cancelQosUpdate) return;
    this.#cancelQosUpdate = clock.after(qosUpdateDelayMs, () => {
      this.#cancelQosUpdate = undefined;
      this.#measure('update', () => this.#updateBurstableShares()).catch((err: unknown) =>
        logger.warn({ err }, 'cannot set the CPU shares of burstable pods'),
      );
    });
  }

  /**
   * Sets the CPU shares of the Burstable class to the sum of its pods' shares. Every thread of the pool can read the sum from the pods'
   * cgroups. Upstream adds up the specs of the active pods; the results differ by at most one share for each pod.
   */
  async #updateBurstableShares(): Promise<void> {
    const { settings, tree, manager } = this.#options;
    const path = this.#qosPath('Burstable');
    let shares = 0;
    for (const folder of await tree.children(path)) {
      if (podUIDOfCgroup(folder, settings.cgroupDriver) === undefined) continue;
      const podShares =
        settings.cgroupVersion === 1
          ? Number(await tree.read(`${path}/${folder}`, 'cpu', 'cpu.shares'))
          : sharesFromWeight(Number(await tree.read(`${path}/${folder}`, 'cpu', 'cpu.weight')));
      if (Number.isFinite(podShares) && podShares > minShares) shares += podShares;
    }
    await manager.update(qosCgroup(settings, 'Burstable'), { cpuShares: Math.min(Math.max(shares, minShares), 262_144) });
  }
}
