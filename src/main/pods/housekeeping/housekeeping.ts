/**
 * Brings together what is wanted, what is known and what is there: pods that nobody wants are ended, pods that ended are forgotten,
 * pods that only the runtime knows are ended too, folders of pods that nobody knows are removed, dead containers are collected. Runs only
 * when every source has reported. Upstream: HandlePodCleanups in pkg/kubelet/kubelet_pods.go and StartGarbageCollection in kubelet.go.
 *
 * Nothing here waits: what takes time is begun, once at a time, and its end is not waited for.
 */
import type { ContainerGcRequest } from '../../../shared/contracts/images.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/errors/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { orphanedRuntimePods, orphanPodsFound, orphanPodsLeft } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { EventSink } from '../../events/index.ts';
import type { PodManager } from '../pod-manager.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';
import { type ApiStatusCache, isTerminalPhase } from '../api-status/index.ts';
import { updatePodMetrics } from './pod-metrics.ts';
import type { PodWorkers } from '../workers/pod-workers.ts';
import { isPodRunning } from '../pod-running.ts';
import { isDeleted } from '../termination/is-deleted.ts';

export interface ContainerGcPolicy {
  readonly minAgeMs: number;
  readonly maxPerPodContainer: number;
  readonly maxContainers: number;
}

export interface HousekeepingDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  /** Starts a wanted pod that no worker knows. */
  readonly start: (pod: Pod) => void;
  readonly activePods: () => readonly Pod[];
  /** Looks at all mirror pods, those without a static pod too; absent without an API server. */
  readonly reconcileMirrorPods?: () => void;
  /** The UIDs that have a folder below the pods' folder. Must settle. */
  readonly listPodDirectories: () => Promise<readonly PodUID[]>;
  /** Must settle. */
  readonly collectContainers: (request: ContainerGcRequest) => Promise<unknown>;
  readonly gcPolicy: ContainerGcPolicy;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's ContainerGCPeriod. */
const containerGcPeriodMs = 60_000;
/** After a pod was forgotten: those that end together are collected together. */
const containerGcSoonMs = 1000;
/**
 * Folders are looked through at start and now and then: a pod's own folder goes with the pod, only what an earlier kubelet left is found
 * here. Upstream lists them every two seconds.
 */
const directoriesPeriodMs = 60_000;
/** Removals that one round begins: a node full of leftovers must not hold up the pods that start. */
const removalsPerRound = 16;

export class Housekeeping {
  readonly #deps: HousekeepingDependencies;
  #collectAtMs = -Infinity;
  #collecting = false;
  #directoriesAtMs = -Infinity;
  #listing = false;
  /** Whose folders the last look has begun to remove, or has found there still. */
  #orphans: ReadonlySet<PodUID> = new Set();

  constructor(dependencies: HousekeepingDependencies) {
    this.#deps = dependencies;
  }

  /** One round. */
  run(): void {
    const { podManager, podWorkers, cache, statuses, activePods, start, reconcileMirrorPods, clock, logger } = this.#deps;
    const desired = podManager.uids();
    const known = podWorkers.syncKnownPods(desired);
    const active = activePods();
    for (const pod of active) {
      if (!podWorkers.isKnown(podUID(pod))) start(pod);
    }
    for (const status of cache.all()) this.#contain(status.podUID, () => this.#endUnknown(status));
    for (const pod of podManager.all()) {
      const uid = podUID(pod);
      const isRefused = isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase);
      if (isDeleted(pod) && isRefused && !podWorkers.isKnown(uid)) this.#contain(uid, () => podWorkers.finish(pod));
    }
    contain({ handler: 'mirror pods', logger }, () => reconcileMirrorPods?.());
    for (const uid of statuses.uids()) {
      if (!desired.has(uid) && !podWorkers.isKnown(uid)) this.#contain(uid, () => statuses.forget(uid));
    }
    updatePodMetrics(podManager.all(), active, podManager.mirrorPods(), known.values());
    const nowMs = clock.monotonic();
    if (nowMs >= this.#directoriesAtMs) this.#cleanUpDirectories(nowMs);
    if (nowMs >= this.#collectAtMs) this.#collect(nowMs);
  }

  /** One pod does not keep the round from the others, nor from what follows. */
  #contain(podUID: PodUID, work: () => void): void {
    contain({ handler: 'housekeeping', logger: this.#deps.logger, fields: { podUID } }, work);
  }

  #endUnknown(status: RuntimePodStatus): void {
    const { podWorkers, logger } = this.#deps;
    if (podWorkers.isKnown(status.podUID) || !isPodRunning(status)) return;
    logger.info({ pod: `${status.namespace}/${status.name}`, podUID: status.podUID }, 'Terminating a pod that only the runtime knows');
    podWorkers.terminateRuntimePod(status);
    orphanedRuntimePods.inc();
  }

  /** Dead containers are collected in a moment: a pod was forgotten. */
  collectSoon(): void {
    this.#collectAtMs = Math.min(this.#collectAtMs, this.#deps.clock.monotonic() + containerGcSoonMs);
  }

  #collect(nowMs: number): void {
    if (this.#collecting) return;
    const { podManager, podWorkers, collectContainers, gcPolicy, nodeName, events, clock, logger } = this.#deps;
    const knownPodUIDs = [...new Set([...podManager.uids(), ...podWorkers.uids()])];
    const removablePodUIDs = knownPodUIDs.filter((uid) => podWorkers.isKnown(uid) && podWorkers.shouldContentBeRemoved(uid));
    this.#collecting = true;
    this.#collectAtMs = nowMs + containerGcPeriodMs;
    collectContainers({ requestedAtMs: clock.now(), allSourcesReady: true, knownPodUIDs, removablePodUIDs, ...gcPolicy })
      .catch((err: unknown) => {
        logger.error({ err }, 'Container garbage collection failed');
        events.record({ object: nodeReference(nodeName), type: 'Warning', reason: 'ContainerGCFailed', message: messageOf(err) });
      })
      .finally(() => {
        this.#collecting = false;
      });
  }

  #cleanUpDirectories(nowMs: number): void {
    if (this.#listing) return;
    const { listPodDirectories, logger } = this.#deps;
    this.#listing = true;
    this.#directoriesAtMs = nowMs + directoriesPeriodMs;
    listPodDirectories()
      .then((uids) => this.#cleanUpUnknown(uids))
      .catch((err: unknown) => logger.error({ err }, "Could not list the pods' folders"))
      .finally(() => {
        this.#listing = false;
      });
  }

  #cleanUpUnknown(uids: readonly PodUID[]): void {
    const { podManager, podWorkers, cache, clock, logger } = this.#deps;
    // Looked at now, not when the listing began: a pod may have come meanwhile.
    const unknown = uids.filter((uid) => !podManager.get(uid) && !podWorkers.isKnown(uid) && !isPodRunning(cache.get(uid)));
    const left = uids.filter((uid) => this.#orphans.has(uid) && podWorkers.isKnown(uid) && !podManager.get(uid));
    orphanPodsFound.set(unknown.length + left.length);
    orphanPodsLeft.set(left.length);
    const removed = unknown.slice(0, removalsPerRound);
    this.#orphans = new Set([...left, ...removed]);
    for (const uid of removed) {
      logger.info({ podUID: uid }, 'Removing the folder of a pod that nobody knows');
      podWorkers.cleanUpUnknown(uid);
    }
    if (unknown.length > removalsPerRound) this.#directoriesAtMs = clock.monotonic();
  }
}
