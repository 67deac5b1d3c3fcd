/**
 * Reconciles the desired pods, the pod workers and the runtime: terminates pods that no source has, forgets terminated pods, terminates pods
 * that only the runtime has, removes the directories and cgroups of unknown pods, removes what the runtime has created for pods that had finished, and
 * starts container garbage collection. While a source has not reported, only the dead containers of running pods are collected.
 * Upstream: HandlePodCleanups in pkg/kubelet/kubelet_pods.go and StartGarbageCollection in kubelet.go.
 *
 * A round never waits: it starts asynchronous work, each kind at most once at a time, and does not await the result.
 */
import type { ContainerGcReply, ContainerGcRequest } from '../../../shared/contracts/images.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { orphanedRuntimePods, orphanPodsFound, orphanPodsLeft } from '../../../shared/metrics/definitions/pods.ts';
import { orphanedPodCgroups } from '../../../shared/metrics/definitions/resources.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { EventSink } from '../../events/index.ts';
import type { PodManager } from '../pod-manager.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';
import type { ApiStatusCache } from '../api-status/index.ts';
import { updatePodMetrics } from './pod-metrics.ts';
import type { PodWorkers } from '../workers/index.ts';
import type { PodStates } from '../lifecycle/pod-states.ts';
import { isPodRunning } from '../pod-running.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';

/** The flags minimum-container-ttl-duration, maximum-dead-containers-per-container and maximum-dead-containers. */
export interface ContainerGcPolicy {
  readonly minAgeMs: number;
  readonly maxPerPodContainer: number;
  readonly maxContainers: number;
}

export interface HousekeepingDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly podStates: PodStates;
  readonly cache: RuntimeStatusCache;
  readonly statuses: ApiStatusCache;
  /** Starts a desired pod that has no worker. */
  readonly start: (pod: Pod) => void;
  readonly activePods: () => readonly AllocatedPod[];
  /** Reconciles all mirror pods, including orphaned ones. */
  readonly reconcileMirrorPods: () => void;
  /** Asks the pleg thread to inspect one pod, which posts what has changed. */
  readonly inspectPod: (uid: PodUID) => Promise<unknown>;
  /** Lists the UIDs with a directory below the pods directory. The promise must always settle. */
  readonly listPodDirectories: () => Promise<readonly PodUID[]>;
  /** Lists the UIDs with a cgroup. The promise must always settle. */
  readonly listPodCgroups: () => Promise<readonly PodUID[]>;
  /** The promise must always settle. */
  readonly collectContainers: (request: ContainerGcRequest) => Promise<Pick<ContainerGcReply, 'removedContainers'>>;
  readonly gcPolicy: ContainerGcPolicy;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's ContainerGCPeriod. */
const containerGcPeriodMs = 60_000;
/** The delay after a pod was forgotten, so that the containers of pods that terminate together are collected together. */
const containerGcSoonMs = 1000;
/**
 * A terminating pod removes its own directory and cgroup, so this only finds what an earlier kubelet left. A cgroup that appears later is reported
 * (`onPodCgroups`). Upstream lists them every two seconds.
 */
const directoriesPeriodMs = 60_000;
/** Limits the removals that one round starts, so that many orphaned directories do not delay pod starts. */
const removalsPerRound = 16;

export class Housekeeping {
  readonly #deps: HousekeepingDependencies;
  #collectAtMs = -Infinity;
  #collecting = false;
  #containersRemovedAtMs: number | null = null;
  /** The last collection knew the pods of all sources. */
  #knewAllSources = false;
  #directoriesAtMs = -Infinity;
  #listing = false;
  /** Pods whose directories the last cleanup began to remove or still found. */
  #orphans: ReadonlySet<PodUID> = new Set();

  constructor(dependencies: HousekeepingDependencies) {
    this.#deps = dependencies;
  }

  /** When a collection last removed containers; monotonic. Null when none did. */
  get containersRemovedAtMs(): number | null {
    return this.#containersRemovedAtMs;
  }

  /** Runs one round. */
  run(): void {
    const { podManager, podWorkers, podStates, cache, statuses, activePods, start, reconcileMirrorPods, clock, logger } = this.#deps;
    const desired = podManager.uids();
    const knownPods = podWorkers.syncKnownPods(desired);
    const active = activePods();
    for (const pod of active) {
      if (!podStates.isKnown(podUID(pod))) start(pod);
    }
    for (const uid of cache.uninspected) this.#inspectIfUnwanted(uid);
    for (const status of cache.all()) this.#contain(status.podUID, () => this.#terminateIfUnwanted(status));
    for (const pod of podManager.all()) {
      const uid = podUID(pod);
      const isFailedOrSucceeded = isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase);
      if (isDeleted(pod) && isFailedOrSucceeded && !podStates.isKnown(uid)) this.#contain(uid, () => podWorkers.finish(pod));
    }
    contain({ handler: 'mirror pods', logger }, () => reconcileMirrorPods());
    updatePodMetrics(podManager.all(), active, podManager.mirrorPods(), knownPods.values());
    const nowMs = clock.monotonic();
    if (nowMs >= this.#directoriesAtMs) this.#cleanUpDirectories(nowMs);
    if (nowMs >= this.#collectAtMs || !this.#knewAllSources) this.#collect(nowMs, true);
  }

  /**
   * Collects the dead containers of running pods above the limits. No pod counts as deleted. Called instead of `run` while a source has not
   * reported, which usually takes a moment at the start: the first collection waits for a period.
   */
  runWithoutAllSources(): void {
    const nowMs = this.#deps.clock.monotonic();
    if (this.#collectAtMs === -Infinity) this.#collectAtMs = nowMs + containerGcPeriodMs;
    this.#knewAllSources = false;
    if (nowMs >= this.#collectAtMs) this.#collect(nowMs, false);
  }

  /** Contains a fault of one pod, so that the round continues. */
  #contain(podUID: PodUID, work: () => void): void {
    contain({ handler: 'housekeeping', logger: this.#deps.logger, fields: { podUID } }, work);
  }

  /**
   * A cgroup of each of these pods has appeared. The runtime may have continued a cancelled call after the pod's own cleanup. For an unknown pod, the next
   * round lists the directories and cgroups, and removes them.
   */
  onPodCgroups(uids: readonly PodUID[]): void {
    const { podManager, podWorkers, podStates } = this.#deps;
    for (const uid of uids) {
      if (podStates.isKnown(uid)) podWorkers.removeLeftovers(uid);
      else if (!podManager.get(uid)) this.#directoriesAtMs = -Infinity;
    }
  }

  /**
   * The pleg thread waits ten seconds before it inspects something that has started, because usually a sync has started it and requests the inspection. This
   * pod has ended: no sync does.
   */
  #inspectIfUnwanted(uid: PodUID): void {
    const { podStates, inspectPod, logger } = this.#deps;
    if (!podStates.isFinished(uid)) return;
    inspectPod(uid).catch((err: unknown) => logger.debug({ podUID: uid, err }, 'Could not inspect a pod that has ended'));
  }

  /** Terminates a pod that only the runtime knows, and a sandbox that the runtime has created for a pod after the pod's end. */
  #terminateIfUnwanted(status: RuntimePodStatus): void {
    const { podWorkers, podStates, logger } = this.#deps;
    if (!isPodRunning(status)) return;
    if (podStates.isKnown(status.podUID)) return podWorkers.removeLeftovers(status.podUID);
    logger.info({ pod: `${status.namespace}/${status.name}`, podUID: status.podUID }, 'Terminating a pod that only the runtime knows');
    podWorkers.terminateRuntimePod(status);
    orphanedRuntimePods.inc();
  }

  /** Called when a pod was forgotten: collects dead containers after a short delay. */
  collectSoon(): void {
    this.#collectAtMs = Math.min(this.#collectAtMs, this.#deps.clock.monotonic() + containerGcSoonMs);
  }

  #collect(nowMs: number, allSourcesReady: boolean): void {
    if (this.#collecting) return;
    this.#knewAllSources = allSourcesReady;
    const { nodeName, events, logger } = this.#deps;
    this.#collecting = true;
    this.#collectAtMs = nowMs + containerGcPeriodMs;
    this.#collectContainers(this.#gcRequest(allSourcesReady))
      .catch((err: unknown) => {
        logger.error({ err }, 'Container garbage collection failed');
        events.record({ object: nodeReference(nodeName), type: 'Warning', reason: 'ContainerGCFailed', message: messageOf(err) });
      })
      .finally(() => {
        this.#collecting = false;
      });
  }

  /** Collects also the containers that terminated pods would keep. For eviction, when the disk is full. */
  async deleteAllUnusedContainers(): Promise<void> {
    const { podStates } = this.#deps;
    const request = this.#gcRequest(this.#knewAllSources);
    const terminatedPodUIDs = request.knownPodUIDs.filter((uid) => podStates.isKnown(uid) && podStates.shouldRuntimeBeRemoved(uid));
    await this.#collectContainers({ ...request, terminatedPodUIDs });
  }

  async #collectContainers(request: ContainerGcRequest): Promise<void> {
    const { removedContainers } = await this.#deps.collectContainers(request);
    if (removedContainers > 0) this.#containersRemovedAtMs = this.#deps.clock.monotonic();
  }

  #gcRequest(allSourcesReady: boolean): ContainerGcRequest {
    const { podManager, podStates, gcPolicy, clock } = this.#deps;
    const knownPodUIDs = [...new Set([...podManager.uids(), ...podStates.uids()])];
    const removablePodUIDs = knownPodUIDs.filter((uid) => podStates.isKnown(uid) && podStates.shouldContentBeRemoved(uid));
    return { requestedAtMs: clock.now(), allSourcesReady, knownPodUIDs, removablePodUIDs, ...gcPolicy };
  }

  #cleanUpDirectories(nowMs: number): void {
    if (this.#listing) return;
    const { listPodDirectories, listPodCgroups, logger } = this.#deps;
    this.#listing = true;
    this.#directoriesAtMs = nowMs + directoriesPeriodMs;
    const cgroups = listPodCgroups().catch((err: unknown) => {
      logger.error({ err }, 'Could not list the cgroups of pods');
      return [];
    });
    Promise.all([listPodDirectories(), cgroups])
      .then(([directories, withCgroup]) => this.#cleanUpUnknown(directories, withCgroup))
      .catch((err: unknown) => logger.error({ err }, 'Could not list the pod directories'))
      .finally(() => {
        this.#listing = false;
      });
  }

  #cleanUpUnknown(directories: readonly PodUID[], withCgroup: readonly PodUID[]): void {
    const uids = [...new Set([...directories, ...withCgroup])];
    const { podManager, podWorkers, podStates, cache, clock, logger } = this.#deps;
    // Checked after the listing, because a pod may have been added meanwhile.
    const unknown = uids.filter((uid) => !podManager.get(uid) && !podStates.isKnown(uid) && !isPodRunning(cache.get(uid)));
    const remaining = uids.filter((uid) => this.#orphans.has(uid) && podStates.isKnown(uid) && !podManager.get(uid));
    orphanPodsFound.set(unknown.length + remaining.length);
    orphanPodsLeft.set(remaining.length);
    const removed = unknown.slice(0, removalsPerRound);
    this.#orphans = new Set([...remaining, ...removed]);
    for (const uid of removed) {
      logger.info({ podUID: uid }, 'Orphaned pod found, removing');
      if (withCgroup.includes(uid)) orphanedPodCgroups.inc();
      podWorkers.cleanUpUnknown(uid);
    }
    if (unknown.length > removalsPerRound) this.#directoriesAtMs = clock.monotonic();
  }
}
