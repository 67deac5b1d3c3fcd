/**
 * What the sources say, handed on to the pod manager (what is wanted), through admission, to the pod workers (what runs). Upstream:
 * HandlePodAdditions, HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in pkg/kubelet/kubelet.go.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { PodUpdate } from '../sources/index.ts';
import { countRejection, type AdmitHandler } from './admission.ts';
import { isTerminalPhase } from './api-status/phase.ts';
import { podReference, type EventSink } from './events.ts';
import { isDeleted } from './is-deleted.ts';
import { isMirrorPod } from './mirror-pod.ts';
import type { PodManager } from './pod-manager.ts';
import type { FailedPod, PodStatuses } from './pod-statuses.ts';
import type { PodWorkers } from './pod-workers.ts';

export interface PodUpdatesDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly statuses: PodStatuses;
  readonly events: EventSink;
  readonly admitHandlers: readonly AdmitHandler[];
  readonly sourcesReady: () => boolean;
  readonly logger: Logger;
}

export class PodUpdates {
  readonly #deps: PodUpdatesDependencies;

  constructor(dependencies: PodUpdatesDependencies) {
    this.#deps = dependencies;
  }

  handle({ op, source, pods }: PodUpdate): void {
    const names = pods.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
    this.#deps.logger[op === 'RECONCILE' ? 'debug' : 'info']({ op, source, pods: names }, 'SyncLoop update');
    switch (op) {
      case 'ADD':
        return this.add(pods);
      // A graceful deletion is an update with a deletion time.
      case 'UPDATE':
      case 'DELETE':
        return this.update(pods);
      case 'REMOVE':
        return this.remove(pods);
      case 'RECONCILE':
        return this.reconcile(pods);
      default:
        op satisfies never;
    }
  }

  add(pods: readonly Pod[]): void {
    for (const pod of pods.toSorted(byCreation)) {
      this.#deps.podManager.set(pod);
      // A mirror pod is never run: whoever looks after it listens to the pod manager.
      if (!isMirrorPod(pod)) this.start(pod);
    }
  }

  /** Of a pod that is wanted: admits it, unless it is ending already, and hands it to its worker. */
  start(pod: Pod): void {
    const { podWorkers, statuses, events } = this.#deps;
    const isEnding = podWorkers.isTerminationRequested(podUID(pod)) || isDeleted(pod) || isTerminalPhase(pod.status?.phase);
    if (!isEnding) {
      const refusal = this.#refusal(pod);
      if (refusal) {
        events.record({ object: podReference(pod), type: 'Warning', ...refusal });
        statuses.reject(pod, refusal);
        countRejection(refusal.reason);
        return;
      }
    }
    podWorkers.update(pod, 'create');
  }

  update(pods: readonly Pod[]): void {
    for (const pod of pods) {
      this.#deps.podManager.set(pod);
      // A pod that was rejected stays so, whatever else changes in it.
      if (this.#deps.podWorkers.isKnown(podUID(pod))) this.#deps.podWorkers.update(pod, 'update');
    }
  }

  remove(pods: readonly Pod[]): void {
    const { podManager, podWorkers, sourcesReady, logger } = this.#deps;
    for (const pod of pods) {
      podManager.remove(podUID(pod));
      if (isMirrorPod(pod)) continue;
      if (sourcesReady()) podWorkers.remove(pod);
      // Housekeeping ends it once every source has reported: another one may still want it.
      else logger.debug({ pod: `${pod.metadata.namespace}/${pod.metadata.name}` }, 'Not deleting a pod before every source has reported');
    }
  }

  /** Only the status differs from what the source has. */
  reconcile(pods: readonly Pod[]): void {
    for (const pod of pods) {
      this.#deps.podManager.set(pod);
      this.#deps.podWorkers.reconcile(pod);
    }
  }

  /** Pods that use the node's resources or may do so: not ended, not rejected. Upstream: filterOutInactivePods. */
  active(): Pod[] {
    const { podManager, podWorkers, statuses } = this.#deps;
    return podManager.all().filter((pod) => {
      const uid = podUID(pod);
      if (podWorkers.isKnownTerminated(uid)) return false;
      return !isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase) || podWorkers.isTerminationRequested(uid);
    });
  }

  #refusal(pod: Pod): FailedPod | null {
    const { admitHandlers } = this.#deps;
    if (admitHandlers.length === 0) return null;
    const active = this.active().filter((other) => podUID(other) !== podUID(pod));
    for (const admit of admitHandlers) {
      const refusal = admit(pod, active);
      if (refusal) return refusal;
    }
    return null;
  }
}

function byCreation(a: Pod, b: Pod): number {
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return first < second ? -1 : first > second ? 1 : 0;
}
