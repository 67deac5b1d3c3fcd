/**
 * Records which pods are admitted, the resources that are allocated to them, and those that are in force. A restarted kubelet admits no pod again: a
 * second admission could reject a running pod whose node has changed labels or free resources since, and kill its containers. The checkpoints have the
 * Go kubelet's format, so that pods survive a switch between the two in either direction, also in the middle of a resize.
 * Upstream: allocation manager (pkg/kubelet/allocation), actuatedState of pkg/kubelet/kuberuntime.
 *
 * Admission does not wait for the disk. If the kubelet or the host crashes within 20 ms plus one synced write (three in a burst; milliseconds
 * each, more on a slow disk) after an admission, the pod is admitted again. A resize does wait. A written checkpoint survives a power loss.
 */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { ActuatedPod, ActuatedResources } from '../../shared/contracts/pod-sync/allocation.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { replaceAllSynced, syncFolder } from '../../shared/linux/write-durably.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { asAllocated, type AllocatedPod } from './allocated-pod.ts';
import { asActuated, computeActuated, withUnknownLimits, type ActuatedRecord } from './actuated-resources.ts';
import { readBoundedFile } from '../../shared/files/read-bounded-file.ts';
import { reconstructAllocation, withUnknownRequests } from './resize/reconstruct.ts';
import { CheckpointWriter } from './checkpoint-writer.ts';
import { decodeAllocations, encodeAllocations } from './checkpoint.ts';
import {
  greaterOf,
  isSameAllocation,
  toAllocation,
  withAllocation,
  type AllocationGates,
  type PodAllocation,
  type RecordedResources,
} from './pod-allocation.ts';

const fileName = 'allocated_pods_state';
const actuatedFileName = 'actuated_pods_state';
/** Pods that are admitted in one burst are written together. */
const writeDelayMs = 20;
/** A lost record of an actuated resize costs one call that changes nothing. */
const actuatedDelayMs = 1000;
/** Far larger than the checkpoint of any node: a larger file is corrupt. */
const maxBytes = 64 * 1024 * 1024;

export interface AllocationManagerOptions {
  readonly rootDir: string;
  readonly gates: AllocationGates;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tests replace these three. */
  readonly read?: typeof readBoundedFile;
  readonly write?: typeof replaceAllSynced;
  readonly sync?: typeof syncFolder;
}

export class AllocationManager {
  readonly #gates: AllocationGates;
  readonly #writer: CheckpointWriter;
  /** Null for an admitted pod whose allocation is recorded when it starts again. */
  readonly #admitted: Map<PodUID, PodAllocation | null>;
  /** Allocations of resizes that are not durable yet. */
  readonly #resizing = new Map<PodUID, PodAllocation>();
  /** The pods in `#resizing` whose allocations the next write contains: they become durable together, or not at all. */
  readonly #unwritten = new Set<PodUID>();
  /** The resources in force of the pods for which they may differ from the allocated ones. */
  readonly #actuated: Map<PodUID, ActuatedRecord>;
  /** Admitted pods without a record of the resources that are in force. */
  readonly #unrecorded: Set<PodUID>;
  /** One allocated pod per version of a pod, because other parts cache values by the pod object. */
  readonly #allocated = new WeakMap<Pod, { readonly allocation: PodAllocation; readonly pod: AllocatedPod }>();

  private constructor(options: AllocationManagerOptions, admitted: Map<PodUID, PodAllocation>, actuated: Map<PodUID, ActuatedRecord>) {
    const { rootDir, gates, ...rest } = options;
    this.#gates = gates;
    this.#admitted = admitted;
    // Only what differs from the allocation is kept.
    const differs = ([uid, record]: [PodUID, ActuatedRecord]) => {
      const allocation = admitted.get(uid);
      return allocation !== undefined && !isSameAllocation(record, computeActuated(allocation, undefined));
    };
    this.#actuated = new Map([...actuated].filter(differs));
    this.#unrecorded = new Set([...admitted.keys()].filter((uid) => !actuated.has(uid)));
    this.#writer = new CheckpointWriter({
      ...rest,
      files: [
        // Actuated resources are written first: a crash between the two files then loses the new allocation, and not the record that it is not in force.
        { path: join(rootDir, actuatedFileName), encode: () => encodeAllocations(this.#allActuated()) },
        { path: join(rootDir, fileName), encode: () => (this.#unwritten.clear(), encodeAllocations(this.#allocations())) },
      ],
      consequence: 'Could not write the allocation checkpoint, a restart would admit pods again',
    });
  }

  /** Reads the checkpoints. An unreadable file is logged and set aside: the pods are admitted again, with what is in force. Upstream fails to start. */
  static async open(options: AllocationManagerOptions): Promise<AllocationManager> {
    const { read: readText = readBoundedFile } = options;
    const read = async (name: string, consequence: string): Promise<Map<PodUID, RecordedResources>> => {
      const path = join(options.rootDir, name);
      try {
        return decodeAllocations((await readText(path, maxBytes)).toString());
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
        const setAside = `${path}.broken`;
        options.logger.error({ path, setAside, err: messageOf(err) }, consequence);
        await rename(path, setAside).catch((failure: unknown) =>
          options.logger.error({ path, err: messageOf(failure) }, 'Could not set aside a checkpoint'),
        );
        return new Map();
      }
    };
    const admitted = await read(fileName, 'Could not read the allocation checkpoint, all pods are admitted again');
    const actuated = await read(actuatedFileName, 'Could not read the checkpoint of actuated resources, it is written again');
    const manager = new AllocationManager(options, admitted, actuated);
    // The kubelet that wrote the checkpoints recorded only allocations of these pods.
    if ([...admitted.keys()].some((uid) => !actuated.has(uid))) manager.#writer.writeWithin(writeDelayMs);
    return manager;
  }

  isAdmitted(uid: PodUID): boolean {
    return this.#admitted.has(uid);
  }

  /**
   * Admits the pod and allocates the resources of its spec. A pod that runs and whose record is lost gets the resources in force. An earlier allocation stays.
   * @param runtime null when the runtime has nothing of the pod
   */
  setAllocatedResources(pod: Pod, runtime: RuntimePodStatus | null = null): void {
    const uid = podUID(pod);
    if (this.#admitted.get(uid)) return;
    const reconstructed = reconstructAllocation(pod, runtime, this.#gates);
    this.#admitted.set(uid, reconstructed ?? toAllocation(pod, this.#gates));
    const unknown = reconstructed && withUnknownRequests(pod, runtime, withUnknownLimits(reconstructed, {}));
    if (reconstructed && unknown && Object.keys(unknown).length > 0)
      this.#actuated.set(uid, { ...computeActuated(reconstructed, undefined), ...unknown });
    else this.#actuated.delete(uid);
    this.#writer.writeWithin(writeDelayMs);
  }

  /**
   * Allocates the resources of an admitted pod's spec in place of the earlier ones. Resolves when the allocation is durable. Rejects with the error of the
   * write: the pod then keeps its earlier resources. The caller starts one resize of a pod at a time.
   */
  async resize(pod: Pod): Promise<void> {
    const uid = podUID(pod);
    const before = this.#admitted.get(uid);
    if (!before) throw new Error('the pod is not admitted');
    const after = toAllocation(pod, this.#gates);
    this.#actuated.set(uid, computeActuated(before, this.#actuated.get(uid)));
    this.#resizing.set(uid, after);
    this.#unwritten.add(uid);
    try {
      await this.#writer.flush();
      if (this.#admitted.get(uid) === before) this.#admitted.set(uid, after);
    } finally {
      this.#resizing.delete(uid);
    }
  }

  /** Whether a resize of the pod becomes durable. */
  isResizing(uid: PodUID): boolean {
    return this.#resizing.has(uid);
  }

  /**
   * Returns the pod with the resources that count against the node: the allocated ones or, while a resize becomes durable, the greater amounts of before
   * and after the resize.
   * @param isForResize the caller checks whether another pod's resize fits: its allocation would be in the same write as those in `#unwritten`, so
   *   they count with the resources after their resizes; if the write fails, neither is allocated
   */
  countedPod(pod: Pod, isForResize = false): AllocatedPod {
    const uid = podUID(pod);
    const after = this.#resizing.get(uid);
    const before = this.#admitted.get(uid);
    if (!after || !before) return this.updatePodFromAllocation(pod);
    const counted = isForResize && this.#unwritten.has(uid) ? after : greaterOf(before, after);
    return asAllocated(withAllocation(pod, counted, this.#gates));
  }

  /** Returns a pod that is not admitted yet, with the resources that its admission would allocate. */
  podToAdmit(pod: Pod, runtime: RuntimePodStatus | null): Pod {
    const allocation = reconstructAllocation(pod, runtime, this.#gates);
    return allocation ? withAllocation(pod, allocation, this.#gates) : pod;
  }

  /** Returns the pod with its allocated resources; the same object when it has none or they equal its spec. */
  updatePodFromAllocation(pod: Pod): AllocatedPod {
    const allocation = this.#admitted.get(podUID(pod));
    if (!allocation) return asAllocated(pod);
    const cached = this.#allocated.get(pod);
    if (cached?.allocation === allocation) return cached.pod;
    const allocated = asAllocated(withAllocation(pod, allocation, this.#gates));
    this.#allocated.set(pod, { allocation, pod: allocated });
    return allocated;
  }

  /** Returns the resources that are in force; undefined when they are the allocated ones. */
  actuated(uid: PodUID): ActuatedRecord | undefined {
    return this.#actuated.get(uid);
  }

  /** Returns true at the first call for a pod that the checkpoint has as admitted, but without a record of the resources that are in force. */
  takeUnrecorded(uid: PodUID): boolean {
    return this.#unrecorded.delete(uid);
  }

  /** Returns the pod with the resources that are in force; the same object when they are the allocated ones. */
  actuatedPod(pod: AllocatedPod): ActuatedPod {
    const actuated = this.#actuated.get(podUID(pod));
    return asActuated(actuated ? withAllocation(pod, actuated, this.#gates) : pod);
  }

  /** Records resources that are in force now, of the containers and the pod that `changes` has. */
  setActuated(uid: PodUID, changes: ActuatedResources): void {
    const allocation = this.#admitted.get(uid);
    if (!allocation) return;
    const before = computeActuated(allocation, this.#actuated.get(uid));
    const limits = new Map([...(before.emptyDirLimits ?? []), ...(changes.emptyDirLimits ?? [])]);
    const containers = new Map([...before.containers, ...changes.containers]);
    const { unknownMemoryRequests, ...known } = { ...before, ...changes };
    const unknown = changes.unknownMemoryRequests ?? unknownMemoryRequests?.difference(new Set(changes.containers.keys())) ?? new Set();
    const after = {
      ...known,
      containers,
      ...(limits.size > 0 && { emptyDirLimits: limits }),
      ...(unknown.size > 0 && { unknownMemoryRequests: unknown }),
    };
    // A record that equals the allocation is not kept.
    if (unknown.size === 0 && isSameAllocation(after, computeActuated(allocation, undefined))) this.#actuated.delete(uid);
    else this.#actuated.set(uid, after);
    this.#writer.writeWithin(actuatedDelayMs);
  }

  /** Resolves when everything is durable, or could not be written. */
  async settleWrites(): Promise<void> {
    await this.#writer.flush().catch(() => {});
  }

  /** Called when no source has the pod. If the UID returns, as a static pod's may, the resources of its new spec are allocated. */
  removePod(uid: PodUID): void {
    if (this.#admitted.has(uid)) this.#admitted.set(uid, null);
  }

  /** Forgets all pods but these. */
  removeOrphanedPods(uids: ReadonlySet<PodUID>): void {
    const sizeBefore = this.#admitted.size;
    for (const uid of this.#admitted.keys()) if (!uids.has(uid)) this.#admitted.delete(uid);
    for (const uid of this.#unrecorded) if (!uids.has(uid)) this.#unrecorded.delete(uid);
    for (const uid of this.#actuated.keys()) if (!this.#admitted.has(uid)) this.#actuated.delete(uid);
    if (this.#admitted.size !== sizeBefore) this.#writer.writeWithin(writeDelayMs);
  }

  /** Writes pending changes. */
  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Removed pods are not written: if the kubelet restarts before they are forgotten, they are admitted again. */
  #allocations(): Map<PodUID, PodAllocation> {
    return new Map(
      [...this.#admitted].flatMap(([uid, allocation]) => (allocation ? [[uid, this.#resizing.get(uid) ?? allocation] as const] : [])),
    );
  }

  #allActuated(): Map<PodUID, ActuatedRecord> {
    return new Map([...this.#allocations()].map(([uid, allocation]) => [uid, computeActuated(allocation, this.#actuated.get(uid))]));
  }
}
