/**
 * Writes the status of one pod to the API server: a patch of the newest known object, and the deletion of the object when nothing of the
 * deleted pod is left on the node. Upstream: syncPod in pkg/kubelet/status/status_manager.go, which reads the object before each write.
 */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { isConflict, isNotFound, type ApiClient } from '../../api/index.ts';
import { podWeight } from '../../threads/pod-weight.ts';
import type { PodManager } from '../pod-manager.ts';
import type { StatusUpdate } from '../api-status/index.ts';
import { isMirrorOf } from '../static/mirror-pod.ts';
import { isMirrorPod, isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import { isDeleted } from '../../../shared/kubernetes/is-deleted.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { deletePodObject, podPath } from '../termination/delete-pod-object.ts';
import type { PodTimelines } from '../../timeline/index.ts';
import { isNewer } from './newest-object.ts';
import { podFields, type StatusEntry } from './status-entry.ts';
import { patchedStatus, statusPatch, toApiStatus, type StatusPatch } from './status-patch.ts';

export interface StatusWriterDependencies {
  readonly client: ApiClient;
  /** The pod in the API source's watch cache; undefined when the cache does not have it. */
  readonly apiPod: (uid: PodUID) => Pod | undefined;
  readonly podManager: PodManager;
  readonly timelines: PodTimelines;
  readonly logger: Logger;
}

/** After this many conflicts in a row the write fails and is retried with a back-off: other clients change the pod all the time. */
const maxConflicts = 4;
/**
 * Bytes (podWeight). For a pod of this weight or more, the answer to a patch has only the metadata: ten whole pods at once, in JSON with six bytes for a
 * character, would be 200 MiB.
 */
const largeWeight = 128 * 1024;

export class StatusWriter {
  readonly #deps: StatusWriterDependencies;

  constructor(dependencies: StatusWriterDependencies) {
    this.#deps = dependencies;
  }

  /** The newest known version of the object that receives the status: the pod, or a static pod's mirror pod. Undefined when there is none. */
  targetOf(entry: StatusEntry): Pod | undefined {
    const { pod } = entry.update;
    const mirror = this.#deps.podManager.mirrorOf(pod);
    if (isStaticPod(pod) && !(mirror && isMirrorOf(mirror, pod))) return undefined;
    const uid = podUID(mirror ?? pod);
    if (entry.missingUID === uid) return undefined;
    const watched = this.#deps.apiPod(uid);
    if (watched && entry.response && isNewer(entry.response, watched)) return entry.response;
    entry.response = null;
    return watched;
  }

  computePatch({ update, ignoredPatch }: StatusEntry, target: Pod): { next: PodStatus; patch: StatusPatch | null } {
    const next = toApiStatus(reportedStatus(target, update), update);
    const patch = statusPatch(target, next);
    const isIgnored =
      patch && target.metadata.resourceVersion === ignoredPatch?.resourceVersion && JSON.stringify(patch.status) === ignoredPatch?.text;
    return { next, patch: isIgnored ? null : patch };
  }

  shouldDelete({ update, deletedUID }: StatusEntry, target: Pod): boolean {
    return !isStaticPod(update.pod) && deletedUID !== target.metadata.uid && canBeDeleted(target, update.isFinished);
  }

  /** Resolves with false when there is no object to write to. */
  async write(entry: StatusEntry, signal: AbortSignal): Promise<boolean> {
    for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
      const target = this.targetOf(entry);
      if (!target) return conflicts > 0;
      try {
        await this.#send(entry, target, signal);
        return true;
      } catch (err) {
        if (isNotFound(err)) {
          this.#log(entry).debug('Pod does not exist on the server');
          entry.missingUID = target.metadata.uid;
          entry.resolveWaiters();
          return true;
        }
        if (!isConflict(err)) throw err;
        await this.#readAfterConflict(entry, target, signal);
      }
    }
    throw new KubeletError('Conflict', 'the pod changes faster than its status can be written');
  }

  async #send(entry: StatusEntry, target: Pod, signal: AbortSignal): Promise<void> {
    const { update } = entry;
    const { patch, next } = this.computePatch(entry, target);
    const path = podPath(target);
    if (patch) {
      const isLarge = podWeight(target) >= largeWeight;
      const answer = await this.#deps.client.call<Pod>({
        method: 'PATCH',
        path: `${path}/status`,
        patch: 'strategic',
        body: patch,
        answer: isLarge ? 'metadata' : undefined,
        trafficClass: 'status',
        // A newer status may replace this one before the next attempt.
        maxAttempts: 1,
        signal,
      });
      entry.response = isLarge ? { ...target, metadata: answer.metadata, status: patchedStatus(target, next) } : answer;
      const { resourceVersion } = answer.metadata;
      // The metadata alone does not show the status. An unchanged version shows that the patch had no effect.
      const isWithoutEffect = isLarge && resourceVersion === target.metadata.resourceVersion;
      entry.ignoredPatch = isWithoutEffect
        ? { text: JSON.stringify(patch.status), resourceVersion }
        : ignoredPatchOf(entry.response, update);
      this.#log(entry).debug({ patch: withoutDriverTexts(patch) }, 'Status for pod updated successfully');
    }
    const uid = podUID(update.pod);
    const { timelines } = this.#deps;
    timelines.clearProblem(uid, 'api');
    if (entry.update === update) {
      entry.markWritten();
      timelines.end(uid, 'StatusWrite');
    }
    const object = entry.response ?? target;
    if (!this.shouldDelete(entry, object)) return;
    timelines.beginUnlessOpen(uid, 'APIDelete');
    await deletePodObject(this.#deps.client, object, { trafficClass: 'status', signal });
    timelines.end(uid, 'APIDelete');
    entry.deletedUID = object.metadata.uid;
    this.#log(entry).debug('Pod fully terminated and removed from etcd');
  }

  /** Reads the object after a conflict: another client wrote it, or the name belongs to another pod now. */
  async #readAfterConflict(entry: StatusEntry, target: Pod, signal: AbortSignal): Promise<void> {
    const currentPod = await this.#deps.client
      .call<Pod>({ method: 'GET', path: podPath(target), trafficClass: 'status', maxAttempts: 1, signal })
      .catch((err: unknown) => {
        if (isNotFound(err)) return null;
        throw err;
      });
    if (currentPod?.metadata.uid === target.metadata.uid) {
      entry.response = currentPod;
      return;
    }
    if (currentPod)
      this.#log(entry).info({ newUID: currentPod.metadata.uid }, 'Pod was deleted and then recreated, skipping status update');
    entry.missingUID = target.metadata.uid;
    entry.resolveWaiters();
  }

  #log({ update }: StatusEntry): Logger {
    return this.#deps.logger.child(podFields(update.pod));
  }
}

/** The status that the patch starts from. A terminal phase of a mirror pod is not kept when the static pod runs. */
function reportedStatus({ metadata, status = {} }: Pod, update: StatusUpdate): PodStatus {
  if (!isMirrorPod({ metadata }) || !isTerminalPhase(status.phase) || isTerminalPhase(update.status.phase)) return status;
  const { phase: _, ...rest } = status;
  return rest;
}

/**
 * Whether the pod's object may be deleted: the pod was deleted, nothing of it is left on this node, and the API server has its final phase.
 * Upstream: canBeDeleted.
 */
export function canBeDeleted(target: Pod, isFinished: boolean): boolean {
  return isFinished && isDeleted(target) && isTerminalPhase(target.status?.phase);
}

/** Drivers choose the texts of volumes' health, which may have a part of a secret. */
function withoutDriverTexts({ metadata, status }: StatusPatch): StatusPatch {
  const { volumeHealth: _, ...rest } = status;
  return { metadata, status: rest };
}

/** The part of the update that the response to its patch lacks. */
function ignoredPatchOf(response: Pod, update: StatusUpdate): StatusEntry['ignoredPatch'] {
  const missing = statusPatch(response, toApiStatus(response.status ?? {}, update));
  return missing && { text: JSON.stringify(missing.status), resourceVersion: response.metadata.resourceVersion };
}
