/**
 * The cgroups of pods: made before a pod's sandbox, removed after its last container (upstream pkg/kubelet/cm pod_container_manager_linux.go,
 * qos_container_manager_linux.go). Holds nothing that the kernel does not know: a lost task or a restart changes nothing.
 */
import type { PodSyncSettings } from '../../../shared/contracts/pod-sync/worker-data.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { qosClass, type QosClass } from '../../../shared/kubernetes/qos-class.ts';
import { cgroupPath, podCgroup, podsCgroup, podUIDOfCgroup, qosCgroup, type CgroupName } from '../../../shared/linux/cgroup-names.ts';
import { minShares, podCgroupResources, sharesFromWeight, type CgroupResources } from '../../../shared/linux/cgroup-values.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { cgroupManagerDuration } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { cgroupFiles } from './cgroup-files.ts';
import type { CgroupTree } from './cgroup-tree.ts';

export { CgroupTree, type CgroupTreeOptions } from './cgroup-tree.ts';

export type PodCgroupSettings = Pick<
  PodSyncSettings,
  | 'cgroupDriver'
  | 'cgroupVersion'
  | 'cgroupRoot'
  | 'cgroupsPerQOS'
  | 'cpuCFSQuota'
  | 'cpuCFSQuotaPeriodUs'
  | 'podPidsLimit'
  | 'featureGates'
>;

export interface PodCgroupsOptions {
  readonly settings: PodCgroupSettings;
  readonly tree: CgroupTree;
  /** `2MB`, …: those of this host. */
  readonly hugePageSizes: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Pods come in bursts: the shares of their class are set once for all that came within this time. */
const qosUpdateDelayMs = 1000;
/** So much that it never limits (upstream setHugePagesUnbounded). A power of two, so that a float holds it exactly. */
const unbounded = 2 ** 62;

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  #cancelUpdate: (() => void) | undefined;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** What the pod's sandbox names as its cgroup parent; empty: the runtime's own. Throws for a UID that cannot be a cgroup. */
  cgroupParent(pod: Pod): string {
    return this.#perQOS ? this.#path(this.#nameOf(pod)) : '';
  }

  /** True also where pods have no cgroups of their own. */
  async exists(pod: Pod): Promise<boolean> {
    return !this.#perQOS || this.#options.tree.exists(this.cgroupParent(pod));
  }

  /** Makes the pod's cgroup, with its class's and its values. One that is there is left as it is. Rejects with the file system's error. */
  async ensureExists(pod: Pod): Promise<void> {
    if (!(await this.exists(pod))) await this.create(pod);
  }

  /** The same where the runtime may have made it already, without its values, for what goes below. */
  async create(pod: Pod): Promise<void> {
    if (!this.#perQOS) return;
    await this.#ensureClasses();
    const { settings, tree } = this.#options;
    const resources = podCgroupResources(pod, {
      enforceCPULimits: settings.cpuCFSQuota,
      cpuPeriodUs: settings.cpuCFSQuotaPeriodUs,
      podPidsLimit: settings.podPidsLimit,
      podLevelResources: settings.featureGates['PodLevelResources'] ?? true,
    });
    await this.#timed('create', async () => {
      await tree.create(this.cgroupParent(pod));
      await this.#write(this.#nameOf(pod), resources);
    });
    if (qosClass(pod) === 'Burstable') this.#updateSoon();
  }

  /**
   * Kills what is left in it and removes it, whatever class it is in. Needs only the UID; nothing to remove is a success. Rejects when it
   * is still busy after some seconds.
   */
  async remove(uid: PodUID, signal: AbortSignal): Promise<void> {
    if (!this.#perQOS) return;
    for (const qos of ['Guaranteed', 'Burstable', 'BestEffort'] as const) {
      const path = this.#path(podCgroup(this.#options.settings, qos, uid));
      if (!(await this.#options.tree.isAnywhere(path))) continue;
      await this.#timed('destroy', () => this.#options.tree.remove(path, signal));
      if (qos === 'Burstable') this.#updateSoon();
    }
  }

  /** Drops the update that is due. */
  close(): void {
    this.#cancelUpdate?.();
  }

  get #perQOS(): boolean {
    return this.#options.settings.cgroupsPerQOS;
  }

  #nameOf(pod: Pod): CgroupName {
    return podCgroup(this.#options.settings, qosClass(pod), podUID(pod));
  }

  #path(name: CgroupName): string {
    return cgroupPath(name, this.#options.settings.cgroupDriver);
  }

  #classPath(qos: QosClass): string {
    return this.#path(qosCgroup(this.#options.settings, qos));
  }

  async #write(name: CgroupName, resources: CgroupResources): Promise<void> {
    const { settings, tree, hugePageSizes } = this.#options;
    await tree.write(this.#path(name), cgroupFiles(resources, settings.cgroupVersion, hugePageSizes));
  }

  async #timed(operation: 'create' | 'update' | 'destroy', work: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    const started = clock.monotonic();
    try {
      await work();
    } finally {
      cgroupManagerDuration.observe((clock.monotonic() - started) / 1000, { operation_type: operation });
    }
  }

  async #ensureClasses(): Promise<void> {
    const { tree, hugePageSizes, settings } = this.#options;
    const hugePageLimits = Object.fromEntries(hugePageSizes.map((size) => [size, unbounded]));
    const classes = [
      { name: podsCgroup(settings), resources: { hugePageLimits } },
      { name: qosCgroup(settings, 'Burstable'), resources: { hugePageLimits } },
      { name: qosCgroup(settings, 'BestEffort'), resources: { hugePageLimits, cpuShares: minShares } },
    ];
    for (const { name, resources } of classes) {
      if (await tree.exists(this.#path(name))) continue;
      await tree.create(this.#path(name));
      await this.#write(name, resources);
    }
  }

  #updateSoon(): void {
    const { clock, logger } = this.#options;
    if (this.#cancelUpdate) return;
    this.#cancelUpdate = clock.after(qosUpdateDelayMs, () => {
      this.#cancelUpdate = undefined;
      this.#timed('update', () => this.#updateBurstableShares()).catch((err: unknown) =>
        logger.warn({ err }, 'cannot set the CPU shares of burstable pods'),
      );
    });
  }

  /**
   * The Burstable class gets the sum of what its pods ask for. It is added up from the pods' own cgroups, which is what every thread of
   * the pool sees alike; upstream adds up the specs of active pods, which comes to the same within a share for each pod.
   */
  async #updateBurstableShares(): Promise<void> {
    const { settings, tree } = this.#options;
    const path = this.#classPath('Burstable');
    let shares = 0;
    for (const folder of await tree.children(path)) {
      if (podUIDOfCgroup(folder, settings.cgroupDriver) === undefined) continue;
      const own =
        settings.cgroupVersion === 1
          ? Number(await tree.read(`${path}/${folder}`, 'cpu', 'cpu.shares'))
          : sharesFromWeight(Number(await tree.read(`${path}/${folder}`, 'cpu', 'cpu.weight')));
      if (Number.isFinite(own) && own > minShares) shares += own;
    }
    await this.#write(qosCgroup(settings, 'Burstable'), { cpuShares: Math.min(Math.max(shares, minShares), 262_144) });
  }
}
