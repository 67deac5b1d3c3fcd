/**
 * Records which pods are admitted and their allocated resources, in memory and in a checkpoint on disk, so that a restarted kubelet admits no
 * pod again. A second admission could reject a running pod whose node has changed labels or free resources since, and kill its containers.
 * The checkpoint has the Go kubelet's format, so that pods survive a switch between the two in either direction; `actuated_pods_state` is written
 * beside it for the same reason. Upstream: allocation manager (pkg/kubelet/allocation).
 *
 * Admission does not wait for the disk. If the kubelet or the host crashes within 20 ms plus one synced write (three in a burst; milliseconds
 * each, more on a slow disk) after an admission, the pod is admitted again. A written checkpoint survives a power loss.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { writeDurably } from '../../shared/linux/write-durably.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { asAllocated, type AllocatedPod } from './allocated-pod.ts';
import { computeActuated } from './actuated-resources.ts';
import { decodeAllocations, encodeAllocations } from './checkpoint.ts';
import { toAllocation, withAllocation, type AllocationGates, type PodAllocation } from './pod-allocation.ts';

const fileName = 'allocated_pods_state';
const actuatedFileName = 'actuated_pods_state';
/** Pods that are admitted in one burst are written together. */
const writeDelayMs = 20;
/** After a failed write: a full disk is a matter of minutes, and evictions free space each ten seconds. */
const retryDelayMs = 10_000;
/** Far larger than the checkpoint of any node: a larger file is corrupt. */
const maxBytes = 64 * 1024 * 1024;

export interface AllocationManagerOptions {
  readonly rootDir: string;
  readonly gates: AllocationGates;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Replaced in tests. */
  readonly write?: typeof writeDurably;
}

export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  /** Null for an admitted pod whose allocation is recorded when it starts again. */
  readonly #admitted: Map<PodUID, PodAllocation | null>;
  /** What the last kubelet has recorded in `actuated_pods_state`. */
  readonly #actuated: Map<PodUID, PodAllocation>;
  /** The last content of that file that this kubelet has written. */
  #writtenActuated = '';
  /** One allocated pod per version of a pod, because other parts cache values by the pod object. */
  readonly #allocated = new WeakMap<Pod, { readonly allocation: PodAllocation; readonly pod: AllocatedPod }>();
  #cancelWrite: (() => void) | null = null;
  /** The allocations have changed since the current write began. */
  #isDue = false;
  #writing: Promise<void> | null = null;
  #isFailing = false;
  #isClosing = false;

  private constructor(options: AllocationManagerOptions, admitted: Map<PodUID, PodAllocation>, actuated: Map<PodUID, PodAllocation>) {
    this.#options = options;
    this.#admitted = admitted;
    this.#actuated = actuated;
  }

  /** Reads the checkpoints. An unreadable file is logged and ignored: without allocations all pods are admitted again. Upstream fails to start. */
  static async open(options: AllocationManagerOptions): Promise<AllocationManager> {
    const read = async (name: string, consequence: string): Promise<Map<PodUID, PodAllocation>> => {
      const path = join(options.rootDir, name);
      try {
        const content = await readFile(path, 'utf8');
        if (content.length > maxBytes) throw new Error(`it has ${content.length} bytes, more than ${maxBytes}`);
        return decodeAllocations(content);
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOENT') options.logger.error({ path, err: messageOf(err) }, consequence);
        return new Map();
      }
    };
    const admitted = await read(fileName, 'Could not read the allocation checkpoint, all pods are admitted again');
    const actuated = await read(actuatedFileName, 'Could not read the checkpoint of actuated resources, it is written again');
    const manager = new AllocationManager(options, admitted, actuated);
    // An earlier kubelet has recorded allocations only.
    if ([...admitted.keys()].some((uid) => !actuated.has(uid))) manager.#writeSoon();
    return manager;
  }

  isAdmitted(uid: PodUID): boolean {
    return this.#admitted.has(uid);
  }

  /** Admits the pod and allocates the resources of its spec. An earlier allocation is kept. */
  setAllocatedResources(pod: Pod): void {
    const uid = podUID(pod);
    if (this.#admitted.get(uid)) return;
    this.#admitted.set(uid, toAllocation(pod, this.#options.gates));
    this.#actuated.delete(uid);
    this.#writeSoon();
  }

  /** Returns the pod with its allocated resources; the same object when it has none or they equal its spec. */
  updatePodFromAllocation(pod: Pod): AllocatedPod {
    const allocation = this.#admitted.get(podUID(pod));
    if (!allocation) return asAllocated(pod);
    const cached = this.#allocated.get(pod);
    if (cached?.allocation === allocation) return cached.pod;
    const allocated = asAllocated(withAllocation(pod, allocation, this.#options.gates));
    this.#allocated.set(pod, { allocation, pod: allocated });
    return allocated;
  }

  /** Called when no source has the pod. If the UID returns, as a static pod's may, the resources of its new spec are allocated. */
  removePod(uid: PodUID): void {
    if (this.#admitted.has(uid)) this.#admitted.set(uid, null);
  }

  /** Forgets all pods but these. */
  removeOrphanedPods(uids: ReadonlySet<PodUID>): void {
    const sizeBefore = this.#admitted.size;
    for (const uid of this.#admitted.keys()) if (!uids.has(uid)) this.#admitted.delete(uid);
    if (this.#admitted.size !== sizeBefore) this.#writeSoon();
  }

  /** Writes pending changes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#cancelPending()) this.#write();
    await this.#writing;
  }

  #writeSoon(): void {
    if (this.#isFailing) this.#cancelPending();
    this.#writeAfter(writeDelayMs);
  }

  /** A write that is pending already stays. */
  #writeAfter(delayMs: number): void {
    this.#cancelWrite ??= this.#options.clock.after(delayMs, () => {
      this.#cancelWrite = null;
      this.#write();
    });
  }

  /** One write at a time: all changes during a write go into the next one. */
  #write(): void {
    this.#isDue = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { rootDir, logger } = this.#options;
    const path = join(rootDir, fileName);
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await this.#writeFiles();
        if (this.#isFailing) logger.info({ path }, 'Wrote the allocation checkpoint again');
        this.#isFailing = false;
      } catch (err) {
        if (!this.#isFailing) logger.error({ path, err }, 'Could not write the allocation checkpoint, a restart would admit pods again');
        this.#isFailing = true;
      }
    }
    this.#writing = null;
    if (this.#isFailing && !this.#isClosing) this.#writeAfter(retryDelayMs);
  }

  async #writeFiles(): Promise<void> {
    const { rootDir, write = writeDurably } = this.#options;
    const allocations = this.#toWrite();
    const path = join(rootDir, fileName);
    await write(path, `${path}.new`, encodeAllocations(allocations));
    const actuated = encodeAllocations(
      new Map([...allocations].map(([uid, each]) => [uid, computeActuated(each, this.#actuated.get(uid))])),
    );
    if (actuated === this.#writtenActuated) return;
    const actuatedPath = join(rootDir, actuatedFileName);
    await write(actuatedPath, `${actuatedPath}.new`, actuated);
    this.#writtenActuated = actuated;
  }

  /** Returns whether a write was pending. */
  #cancelPending(): boolean {
    const isPending = this.#cancelWrite !== null;
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    return isPending;
  }

  /** Removed pods are not written: if the kubelet restarts before they are forgotten, they are admitted again. */
  #toWrite(): Map<PodUID, PodAllocation> {
    return new Map([...this.#admitted].flatMap(([uid, allocation]) => (allocation ? [[uid, allocation] as const] : [])));
  }
}
