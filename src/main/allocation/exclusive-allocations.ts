/**
 * Allocates exclusive resources, which one pod has at a time: CPUs, devices, the IDs of a user namespace. Each kind has a provider. A pod gets all
 * exclusive resources that it needs, or none.
 */
import type { ExclusiveAllocation } from '../../shared/contracts/pod-sync/allocation.ts';
import { reportFault } from '../../shared/faults/contain.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { AllocatedInRuntime, AllocationProvider, AllocationRefusal } from './provider.ts';

/** The time that one provider has for one pod. Upstream has no limit, since none of its managers waits. */
const allocationDeadlineMs = 60_000;

export class ExclusiveAllocations {
  readonly #providers: readonly AllocationProvider[];
  readonly #logger: Logger;
  /** Settles when the last allocation ends. Pods get their resources one after the other, because each one limits what is left for the next. */
  #queue: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  constructor(providers: readonly AllocationProvider[], logger: Logger) {
    this.#providers = providers;
    this.#logger = logger;
  }

  isNeededBy(pod: Pod): boolean {
    return this.#providers.some((provider) => provider.isNeededBy(pod));
  }

  /**
   * Resolves with null when the pod has all that it needs and this is durable, or with the first refusal: then the pod has nothing. Never rejects. Never
   * settles after `close`: the restarted kubelet decides about the pod.
   */
  allocate(pod: Pod): Promise<AllocationRefusal | null> {
    const allocated = this.#queue.then(() => this.#allocate(pod));
    this.#queue = allocated;
    return allocated;
  }

  async #allocate(pod: Pod): Promise<AllocationRefusal | null> {
    for (const provider of this.#providers) {
      if (!provider.isNeededBy(pod)) continue;
      const refusal = await this.#allocateFrom(provider, pod);
      if (this.#closing.signal.aborted) return new Promise(() => {});
      if (refusal === null) continue;
      await this.release(podUID(pod));
      return refusal;
    }
    return null;
  }

  async #allocateFrom(provider: AllocationProvider, pod: Pod): Promise<AllocationRefusal | null> {
    try {
      return await provider.allocate(pod, AbortSignal.any([this.#closing.signal, AbortSignal.timeout(allocationDeadlineMs)]));
    } catch (err) {
      reportFault({ handler: `allocation of ${provider.name}`, logger: this.#logger, fields: { podUID: podUID(pod) } }, err);
      return { reason: 'UnexpectedAdmissionError', message: `Allocate failed due to ${messageOf(err)}, which is unexpected` };
    }
  }

  /** Returns the exclusive resources that the pod has; undefined when it needs none. Called before each sync, also after a restart of the kubelet. */
  async restore(pod: Pod, runtime: AllocatedInRuntime): Promise<ExclusiveAllocation | undefined> {
    if (!this.isNeededBy(pod)) return undefined;
    const parts = this.#providers.flatMap((provider) => (provider.isNeededBy(pod) ? [provider.restore(pod, runtime)] : []));
    return (await Promise.all(parts)).reduce(combine, {});
  }

  async release(uid: PodUID): Promise<void> {
    await Promise.all(this.#providers.map((provider) => provider.release(uid)));
  }

  releaseOrphans(isKnown: (uid: PodUID) => boolean): void {
    for (const provider of this.#providers) provider.releaseOrphans(isKnown);
  }

  /** Aborts the allocation in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#providers.map((provider) => provider.close()));
  }
}

/** Merges what two providers have given to one pod. */
function combine(one: ExclusiveAllocation, other: ExclusiveAllocation): ExclusiveAllocation {
  if (!one.containers || !other.containers) return { ...one, ...other };
  const names = new Set([...one.containers.keys(), ...other.containers.keys()]);
  const containers = new Map([...names].map((name) => [name, { ...one.containers?.get(name), ...other.containers?.get(name) }]));
  return { ...one, ...other, containers };
}
