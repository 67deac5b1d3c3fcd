/**
 * Keeps the cgroups above those of pods current: at the start, when pods or the machine change, and every minute against changes from outside. Upstream:
 * qos_container_manager_linux.go and node_container_manager_linux.go in pkg/kubelet/cm.
 */
import type { CgroupChange, SyncCgroupsTask, SyncCgroupsResult } from '../../shared/contracts/pod-sync/cgroups.ts';
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import { qosClasses } from '../../shared/kubernetes/qos-class.ts';
import { value } from '../../shared/kubernetes/quantity.ts';
import { qosCgroup } from '../../shared/cgroups/cgroup-names.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { memoryQosNodeMemoryLowBytes, memoryQosNodeMemoryMinBytes } from '../../shared/metrics/definitions/resources.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { EventSink } from '../events/index.ts';
import { hugePageSizes, planEnforcement, type Enforcement, type EnforcementHost, type EnforcementSettings } from './enforcement.ts';
import { toAmounts, unreservedCapacity } from './node-limits.ts';
import { computeQosLevels, toPodRequests, withoutProtection, type PodRequests, type QosLevels } from './qos-levels.ts';

export interface NodeCgroupsOptions {
  readonly config: EnforcementSettings & Pick<KubeletConfiguration, 'qosReserved' | 'memoryReservationPolicy'>;
  readonly featureGates: FeatureGates;
  readonly cgroupVersion: 1 | 2;
  readonly machine: () => MachineInfo;
  readonly activePods: () => readonly AllocatedPod[];
  readonly syncCgroups: (task: SyncCgroupsTask) => Promise<SyncCgroupsResult>;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's periodicQOSCgroupUpdateInterval, and its retry of a failed enforcement. */
const periodMs = 60_000;
/** Pods start in bursts: their changes within this time are one update. */
const podChangesDelayMs = 1000;

export class NodeCgroups {
  readonly #options: NodeCgroupsOptions;
  /** The requests of a pod do not change: an update is another object. */
  readonly #requests = new WeakMap<Pod, PodRequests>();
  #cancel: (() => void) | undefined;
  #hasStarted = false;
  #isRunning = false;
  /** When the next round starts. */
  #dueAtMs = 0;
  /** True until the cgroups of all QoS classes have been set once. */
  #isFirstSync = true;
  /** The QoS levels that were set last, as JSON; `failed` after a failure. */
  #appliedLevels = '';
  #levelsSetAtMs = -Infinity;
  /** The last successful change of each limit, as JSON, by the enforcement's message of failure. */
  readonly #enforced = new Map<string, string>();
  #isClosed = false;

  constructor(options: NodeCgroupsOptions) {
    this.#options = options;
  }

  /** Sets all cgroups, and continues to. Does not wait. */
  start(): void {
    this.#hasStarted = true;
    this.#runIn(0);
  }

  /** Called when pods were added, changed or removed. */
  onPodsChanged(): void {
    if (this.#hasStarted) this.#runIn(podChangesDelayMs);
  }

  /** Called when the resources of the machine have changed. */
  onMachineChanged(): void {
    this.#runIn(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #runIn(delayMs: number): void {
    const { clock } = this.#options;
    const dueAtMs = clock.monotonic() + delayMs;
    if (this.#isClosed || (this.#cancel && this.#dueAtMs <= dueAtMs)) return;
    this.#cancel?.();
    this.#dueAtMs = dueAtMs;
    this.#cancel = clock.after(delayMs, () => {
      this.#cancel = undefined;
      void this.#run();
    });
  }

  /** One round at a time: a request during a round starts another one after it. */
  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    if (this.#isRunning) return this.#runIn(podChangesDelayMs);
    this.#isRunning = true;
    try {
      await this.#enforce();
      await this.#syncLevels(clock.monotonic());
    } catch (err) {
      if (!this.#isClosed) logger.error({ err: messageOf(err) }, 'Could not update the cgroups of the node');
    } finally {
      this.#isRunning = false;
      this.#runIn(periodMs);
    }
  }

  /** Sets limits that were not set yet, or failed, and records an event for each. */
  async #enforce(): Promise<void> {
    const { config, syncCgroups } = this.#options;
    const due = planEnforcement(config, this.#host()).filter(
      ({ change, failure }) => this.#enforced.get(failure) !== JSON.stringify(change),
    );
    if (due.length === 0) return;
    const { failures } = await syncCgroups({ cgroups: due.map(({ change }) => change) });
    due.forEach((enforcement, index) => this.#report(enforcement, failures[index] ?? null));
  }

  #report({ change, success, failure }: Enforcement, error: string | null): void {
    const { events, nodeName, logger } = this.#options;
    const object = nodeReference(nodeName);
    if (error === null) {
      this.#enforced.set(failure, JSON.stringify(change));
      events.record({ object, type: 'Normal', reason: 'NodeAllocatableEnforced', message: success });
      return;
    }
    logger.error({ err: error }, failure);
    events.record({ object, type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message: `${failure}: ${error}` });
  }

  async #syncLevels(nowMs: number): Promise<void> {
    const { config, syncCgroups, logger } = this.#options;
    if (!config.cgroupsPerQOS) return;
    const levels = this.#withRootLimits(this.#levels());
    const text = JSON.stringify(levels);
    if (text === this.#appliedLevels && nowMs - this.#levelsSetAtMs < periodMs) return;
    const { failures } = await syncCgroups({
      cgroups: this.#toChanges(this.#isFirstSync ? this.#withoutFormerProtection(levels) : levels),
    });
    const failed = failures.filter((failure) => failure !== null);
    this.#isFirstSync &&= failed.length > 0;
    this.#appliedLevels = failed.length === 0 ? text : 'failed';
    this.#levelsSetAtMs = nowMs;
    setMemoryMetrics(levels);
    if (failed.length > 0) logger.warn({ err: failed.join('; ') }, 'Failed to update QoS cgroup configuration');
  }

  #levels(): QosLevels {
    const { config, featureGates, machine, activePods } = this.#options;
    const capacity = machine();
    const unreserved = unreservedCapacity(toAmounts(capacity), config.systemReserved, config.kubeReserved);
    const percent = featureGates.enabled('QOSReserved') ? config.qosReserved['memory'] : undefined;
    return computeQosLevels(
      activePods().map((pod) => this.#requestsOf(pod)),
      {
        hugePageSizes: hugePageSizes(capacity),
        reservesMemory: this.#reservesMemory,
        ...(percent === undefined ? {} : { reservedMemoryPercent: Number.parseInt(percent, 10) }),
        allocatableMemoryBytes: value(unreserved['memory']),
      },
    );
  }

  get #reservesMemory(): boolean {
    const { config, featureGates, cgroupVersion } = this.#options;
    return cgroupVersion === 2 && featureGates.enabled('MemoryQoS') && config.memoryReservationPolicy === 'TieredReservation';
  }

  /** The cgroup of all pods gets its limits with each update: it may have been removed. */
  #withRootLimits(levels: QosLevels): QosLevels {
    const [pods] = planEnforcement(this.#options.config, this.#host());
    return { ...levels, Guaranteed: { ...pods?.change.resources, ...levels.Guaranteed } };
  }

  #host(): EnforcementHost {
    const { featureGates, cgroupVersion, machine } = this.#options;
    return { machine: machine(), cgroupVersion, memoryQos: featureGates.enabled('MemoryQoS') };
  }

  #requestsOf(pod: AllocatedPod): PodRequests {
    const known = this.#requests.get(pod) ?? toPodRequests(pod, this.#options.featureGates.enabled('PodLevelResources'));
    this.#requests.set(pod, known);
    return known;
  }

  #withoutFormerProtection(levels: QosLevels): QosLevels {
    if (this.#options.cgroupVersion === 1 || this.#reservesMemory) return levels;
    return {
      ...levels,
      Guaranteed: { ...levels.Guaranteed, ...withoutProtection.Guaranteed },
      Burstable: { ...levels.Burstable, ...withoutProtection.Burstable },
    };
  }

  #toChanges(levels: QosLevels): CgroupChange[] {
    return qosClasses.map((qos) => ({
      cgroup: qosCgroup(this.#options.config, qos),
      resources: levels[qos],
      create: true,
      // The kernel refuses a memory limit below the usage. The limit of a class, which reserves memory for better classes (qosReserved), is then
      // raised to the usage. The limit of all pods (Guaranteed) stays as it was, because pods must keep what it grants.
      memoryAtLeastUsage: qos !== 'Guaranteed',
    }));
  }
}

/** Shows the protected memory of Guaranteed and of Burstable pods. `memory.min` of the cgroup of all pods covers both classes. */
function setMemoryMetrics({ Guaranteed, Burstable }: QosLevels): void {
  const [total, low] = [Guaranteed.unified?.['memory.min'], Burstable.unified?.['memory.low']];
  if (total === undefined || low === undefined) return;
  memoryQosNodeMemoryMinBytes.set(Number(total) - Number(low));
  memoryQosNodeMemoryLowBytes.set(Number(low));
}
